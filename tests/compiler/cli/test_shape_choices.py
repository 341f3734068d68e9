"""Commands on models for several choices of input shapes."""

from pathlib import Path

import numpy as np
import pytest
from commands import as_json, invoke
from graphs import call, model, x

FIRST, SECOND = "--input-shape=y/in0=1,3", "--input-shape=y/in0=4,3"
SHAPES = [{"y/in0": [1, 3]}, {"y/in0": [4, 3]}]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.tflite"
    path.write_bytes(model({"y": call("NEG", x(1, 3))}).content)
    return path


@pytest.fixture
def cache(file: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "cache"
    report = as_json("compile", file, "-o", folder, "--device", "cpu", FIRST, SECOND)
    assert report["inputs"] == SHAPES[0]
    assert [each["inputs"] for each in report["specializations"]] == SHAPES[1:]
    return folder


def test_a_cache_with_choices(cache: Path) -> None:
    (entry,) = as_json("cache", "list", cache)["entries"]
    assert entry["shapes"] == 2
    assert as_json("cache", "verify", cache)["ok"]
    next(cache.glob("*/*/choices/1/kernels/*.cl")).write_text("")
    assert "choices/1/kernels" in invoke("cache", "verify", cache, code=1).stderr
    assert as_json("cache", "prune", cache, "--max-size", "0")["bytes"] == 0


def test_inspect_takes_a_choice(cache: Path) -> None:
    whole, second = as_json("inspect", cache), as_json("inspect", cache, SECOND)
    assert (whole["input_shapes"], second["input_shapes"]) == (SHAPES, SHAPES[1:])
    assert second["outputs"][0]["shape"] == [4, 3]
    assert "also for" in invoke("inspect", cache).output
    third = "--input-shape=y/in0=5,3"
    assert "those of no choice" in invoke("inspect", cache, third, code=1).stderr
    assert "named twice" in invoke("inspect", cache, FIRST, SECOND, code=2).stderr


def test_export_takes_a_choice(cache: Path, tmp_path: Path) -> None:
    given = ("export", cache, "-o", tmp_path / "c", "--name", "net")
    refused = invoke(*given, code=1).stderr
    assert "with --signature and --input-shape:\n  y/in0 [1, 3]\n  y/in0 [4, 3]" in refused
    invoke(*given, SECOND)
    assert "inputs_0_shape[] = {4, 3}" in (tmp_path / "c" / "net_model.c").read_text()


def test_explain_shows_each_choice(file: Path, tmp_path: Path) -> None:
    given = ("explain", file, "--device", "cpu", FIRST, SECOND)
    assert [each["input_shapes"] for each in as_json(*given)["choices"]] == SHAPES
    assert "Input shapes y/in0 [4, 3]:" in invoke(*given).output
    assert "one choice" in invoke(*given, "--dump", tmp_path / "d", code=2).stderr


def test_run_takes_the_choice_of_its_arrays(
    cache: Path, tmp_path: Path, opencl_device: str
) -> None:
    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.save(tmp_path / "four.npy", values)
    out = tmp_path / "out.npz"
    on = ("--device", opencl_device, "--output", out)
    invoke("run", cache, tmp_path / "four.npy", *on)
    np.testing.assert_array_equal(np.load(out)["y"], -values)
    for chosen, rows in ((), 1), ((SECOND,), 4):
        invoke("run", cache, "random", *chosen, *on)
        assert np.load(out)["y"].shape == (rows, 3)
    np.save(tmp_path / "three.npy", values[:3])
    refused = invoke("run", cache, tmp_path / "three.npy", *on, code=1).stderr
    assert "y/in0 [3, 3] are those of no choice" in refused


def test_verify_and_benchmark_take_each_choice(file: Path, opencl_device: str) -> None:
    found = as_json("verify", file, "--device", opencl_device, FIRST, SECOND)
    assert found["ok"] and [each["input_shapes"] for each in found["choices"]] == SHAPES
    given = ("benchmark", file, "--device", opencl_device, FIRST, SECOND)
    assert "one choice" in invoke(*given, "--csv", "times.csv", code=2).stderr
