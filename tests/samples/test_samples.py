"""Each sample runs and prints what its page says, and the digits network is accurate."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from browser import WEBGPU, chromium
from commands import cache_of_drivers
from devices import opencl_devices, unavailable
from paths import DIGITS, DIGITS_MODEL, SAMPLES
from PIL import Image
from servers import http_server

import tflgpu
from tflgpu.compiler.ir import Array

pytestmark = pytest.mark.slow


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """A sample in its own process, as a user starts it."""
    return subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, check=False
    )


def held_out() -> tuple[Array, Array]:
    """The digits that train.py holds out, by the same split."""
    # Which takes seconds to import, as all workers would here.
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    digits = load_digits()
    images = (digits.images[..., None] / 16).astype(np.float32)
    _, images, _, labels = train_test_split(
        images, digits.target, test_size=0.2, stratify=digits.target, random_state=1
    )
    return images, labels


def test_the_network_is_small_and_accurate(opencl_device: str, tmp_path: Path) -> None:
    """At least 97 % of the held-out digits are classified correctly on the device."""
    assert DIGITS_MODEL.stat().st_size < 200_000
    read_picture = runpy.run_path(str(DIGITS / "classify.py"))["read_picture"]
    pictures = [read_picture(DIGITS / "images" / f"{label}.png") for label in range(10)]
    images, labels = held_out()
    compiled = tflgpu.compile(DIGITS_MODEL, tmp_path, device=opencl_device)
    with tflgpu.load(compiled, device=opencl_device) as session:

        def classify(image: Array) -> int:
            return int(session.run({"image": image})["probabilities"].argmax())

        assert [classify(picture) for picture in pictures] == list(range(10))
        right = [
            classify(image[None]) == label for image, label in zip(images, labels, strict=True)
        ]
    assert np.mean(right) >= 0.97


def test_classify_prints_the_digit(opencl_device: str, tmp_path: Path) -> None:
    """The second run finds the compiled model in the cache."""
    command = (DIGITS / "classify.py", DIGITS / "images" / "7.png", "--device", opencl_device)
    for _ in range(2):
        result = run(*command, "--cache", tmp_path)
        assert result.returncode == 0, result.stderr
        assert re.fullmatch(r"7  \([5-9]\d\.\d %\)\n", result.stdout)


def test_a_file_that_is_not_a_picture_gives_a_short_error(tmp_path: Path) -> None:
    (tmp_path / "digit.png").write_text("not a picture")
    for name in ("digit.png", "missing.png"):
        result = run(DIGITS / "classify.py", tmp_path / name)
        assert result.returncode == 1
        assert name in result.stderr and "Traceback" not in result.stderr


def test_pictures_are_enlarged_held_out_digits() -> None:
    images, labels = held_out()
    for label in range(10):
        with Image.open(DIGITS / "images" / f"{label}.png") as picture:
            pixels = np.asarray(picture)
        assert pixels.shape == (80, 80)
        first = images[labels == label][0, :, :, 0]
        np.testing.assert_array_equal(pixels[::10, ::10], np.rint(first * 255))


def test_compile_and_run() -> None:
    if not opencl_devices():
        unavailable("no OpenCL device is present")
    result = run(SAMPLES / "compile_and_run.py")
    assert result.returncode == 0, result.stderr
    probabilities = [float(word) for word in result.stdout.strip().strip("[]").split()]
    assert len(probabilities) == 10
    assert sum(probabilities) == pytest.approx(1, abs=0.01)


def test_load_at_start(tmp_path: Path) -> None:
    if not opencl_devices():
        unavailable("no OpenCL device is present")
    tflgpu.compile(DIGITS_MODEL, tmp_path)
    result = run(SAMPLES / "load_at_start.py", tmp_path)
    assert result.returncode == 0, result.stderr
    classes = result.stdout.split()
    assert len(classes) == 5 and set(classes) <= set("0123456789")


def test_the_table_of_networks(tmp_path: Path) -> None:
    """Models that run have a row, and the others have a reason."""
    shutil.copy(DIGITS_MODEL, tmp_path)
    (tmp_path / "torn.tflite").write_bytes(DIGITS_MODEL.read_bytes()[:100])
    script = SAMPLES / "benchmarks" / "networks.py"
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), "--rounds", "1", "--threads", "1"],
        capture_output=True,
        text=True,
        # Do not use or change the rooflines of the user who runs the tests.
        env={**os.environ, "XDG_CACHE_HOME": cache_of_drivers(tmp_path / "cache")},
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"\n\| digits\.tflite \| float32 (\| \d+\.\d\d ){5}\|\n", done.stdout)
    assert re.search(r"\n- not run: torn\.tflite: \S", done.stdout)
    for given in ("- date: 20", "- device: ", "GFLOP/s", "us a dispatch", "--rounds 1"):
        assert given in done.stdout


def test_the_page_beside_litert_js(tmp_path: Path) -> None:
    """With a stand-in for LiteRT.js, whose outputs are ones."""
    page = tmp_path / "page"
    done = run(SAMPLES / "benchmarks" / "browser.py", page, DIGITS_MODEL)
    assert done.returncode == 0, done.stderr
    (litert := page / "node_modules/@litertjs/core/dist").mkdir(parents=True)
    (litert / "index.js").write_text(
        "export class Tensor { constructor(array) { this.array = array; } }\n"
        "export const loadLiteRt = async () => {};\n"
        "const ones = {toTypedArray: () => new Float32Array(10).fill(1), delete: () => {}};\n"
        "const run = async () => [{moveTo: async () => ones}];\n"
        "export const loadAndCompile = async () => ({run});\n"
    )
    with chromium(*WEBGPU) as browser, http_server(page) as address:
        opened = browser.new_page()
        opened.goto(f"{address}/index.html?runs=3")
        opened.wait_for_selector("body[data-ready=yes]", timeout=120_000)
        (row,) = opened.evaluate("rows")
        shown = opened.text_content("#table")
    assert row["model"] == "digits.tflite" and shown is not None and "digits.tflite" in shown
    assert 0.5 < row["apart"] < 1  # from ones to probabilities
    assert row["own"] > 0 and row["ratio"] == pytest.approx(row["other"] / row["own"])
