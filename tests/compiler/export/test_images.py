"""Textures and EGL images become inputs of an exported program, under AddressSanitizer."""

from pathlib import Path

import numpy as np
import pytest
from exporting import CHECKED, Found, build, exported, run
from graphs import call, known, model, x

from tflgpu.compiler import Options, pipeline

pytestmark = pytest.mark.slow

CALLERS = Path(__file__).parent / "callers"
WIDTH, HEIGHT = 7, 5


def test_images(gles: Found, tmp_path: Path) -> None:
    scaled = call("MUL", x(1, HEIGHT, WIDTH, 3), known(np.float32(1.5)))
    values = model({"picture": scaled, "other": call("NEG", x(1, 16))})
    formats = (("picture/in0", "rgba8, mean=127.5, std=127.5"),)
    options = Options(target="glsl", device="gpu", fallback="none", inputs=formats)
    compiled = pipeline.build(values.content, options)
    project = exported(compiled, tmp_path, embed=True).folder
    files = ("images/tflgpu_images.c", *("net_model.c", "tflgpu.c", "tflgpu_gles.c"))
    callers = (str(CALLERS / "images.c"), str(CALLERS / "gles.c"), "-l:libEGL.so.1")
    folders = ("-I.", "-Iimages", f"-I{CALLERS}", f"-DWIDTH={WIDTH}", f"-DHEIGHT={HEIGHT}")
    build(project, "images_program", *CHECKED, *folders, *files, *callers)
    ran = run(project, "./images_program", gles.name, sanitizer="use_sigaltstack=0")
    assert (ran.returncode, ran.stderr) == (0, "")
