"""Models exported for OpenGL ES compute what they compute in Python, bit for bit."""

from pathlib import Path

import numpy as np
import pytest
from cases import Case, families
from compiled_cases import compile_cases
from exporting import Demo, Found, content, exported, portable
from graphs.variables import running_total
from paths import DIGITS_MODEL

from tflgpu.compiler import Options, pipeline

pytestmark = pytest.mark.slow

IMAGE = {"image": np.random.default_rng(6).random((1, 8, 8, 1), np.float32)}
OPTIONS = Options(target="glsl", device="gpu", fallback="none")


@pytest.fixture(scope="module")
def digits(gles: Found, tmp_path_factory: pytest.TempPathFactory) -> Demo:
    return exported(pipeline.build(DIGITS_MODEL, OPTIONS), tmp_path_factory.mktemp("digits"))


def test_operators(gles: Found, tmp_path: Path) -> None:
    """The first case of every sixth operator, in one program: a processor compiles GLSL slowly."""
    firsts: list[Case] = [cases[0] for cases in families().values()]
    item = compile_cases(tuple(filter(portable, firsts[::6])), "glsl", "gpu")
    exported(item.model, tmp_path).assert_agrees(gles, item.inputs)


def test_a_network(models: Path, gles: Found, tmp_path: Path) -> None:
    network = models / "networks" / "mediapipe_face" / "face_detection_short_range.tflite"
    image = {"input": np.random.default_rng(8).random((1, 128, 128, 3), np.float32)}
    exported(pipeline.build(network, OPTIONS), tmp_path).assert_agrees(gles, image)


def test_variables_keep_their_content(gles: Found, tmp_path: Path) -> None:
    step = {"x": np.full((2, 3), 2.5, np.float32)}
    exported(pipeline.build(running_total(), OPTIONS), tmp_path).assert_agrees(gles, step, runs=3)


def test_compiled_kernels_are_kept(gles: Found, digits: Demo, tmp_path: Path) -> None:
    """Each kind of damage is noticed, the kernels are compiled again, and the file is whole."""
    cache = tmp_path / "binaries"
    cache.mkdir(mode=0o700)
    wanted = digits.expected(gles.device, IMAGE)
    damages = (
        lambda data: data,
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: b"",
    )
    whole = b""
    for damage in damages:
        ran = digits.run(
            "--device", gles.name, "--cache", str(cache), "--runs", "2", content=content(IMAGE)
        )
        assert (ran.returncode, digits.outputs == wanted) == (0, True), ran.stderr
        (file,) = cache.iterdir()
        whole = whole or file.read_bytes()
        assert len(file.read_bytes()) == len(whole)
        file.write_bytes(damage(whole))


def test_wrong_devices(digits: Demo) -> None:
    ran = digits.run("--device", "none of these", content=content(IMAGE))
    assert ran.stderr == 'no OpenGL ES 3.1 device has "none of these" in its name\n'
