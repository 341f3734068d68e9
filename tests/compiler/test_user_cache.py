"""`tflgpu.load` of a model file, which is compiled into the user's own cache."""

from pathlib import Path

import numpy as np
import pytest
from paths import DIGITS_MODEL

import tflgpu
from tflgpu.compiler.litert.reference import Reference
from tflgpu.compiler.user_cache import user_cache


@pytest.fixture(autouse=True)
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_load_compiles_once_and_tells_of_its_steps(opencl_device: str) -> None:
    image = np.random.default_rng(7).random((1, 8, 8, 1), np.float32)
    steps: list[list[str]] = []
    for _ in range(2):
        steps.append([])
        with tflgpu.load(DIGITS_MODEL, device=opencl_device, progress=steps[-1].append) as session:
            (found,) = session.run(image).values()
    np.testing.assert_allclose(found, Reference(DIGITS_MODEL).run([image])[0], atol=1e-4)
    assert len(list(user_cache().glob("*/*/plan.tflgpu"))) == 1
    first, second = steps
    assert "rewrite" in first and "rewrite" not in second
    assert first[-1] == second[-1] == "build the kernels, or restore them"


def test_what_is_no_model_or_no_choice(tmp_path: Path) -> None:
    (tmp_path / "model.tflite").write_text("<html>")
    with pytest.raises(tflgpu.ModelError, match=r"not a \.tflite model: it is a web page"):
        tflgpu.load(tmp_path / "model.tflite")
    with pytest.raises(tflgpu.OptionError, match="is a model itself; digits chooses from a cache"):
        tflgpu.load(DIGITS_MODEL, "digits")
    with pytest.raises(tflgpu.PlanError, match=r"there is no file .*gone\.tflite"):
        tflgpu.load("gone.tflite")


def test_a_cache_that_cannot_be_is_told_before_compiling(
    opencl_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nothing")
    steps: list[str] = []
    with pytest.raises(tflgpu.PlanError, match=r"cannot create .* XDG_CACHE_HOME .* -o CACHE"):
        tflgpu.load(DIGITS_MODEL, device=opencl_device, progress=steps.append)
    assert "rewrite" not in steps
