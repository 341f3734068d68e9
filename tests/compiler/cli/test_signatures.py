"""Commands on models with several signatures, and with what stays on the device."""

from pathlib import Path

import pytest
from commands import as_json, invoke
from devices import Attached
from graphs.signatures import cached, two_signatures

KEEP = ("--signatures", "all", "--keep", "cache")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cached.tflite"
    path.write_bytes(cached())
    return path


def test_the_graph_of_one(tmp_path: Path) -> None:
    path = tmp_path / "two.tflite"
    path.write_bytes(two_signatures())
    options = ("--until", "canonicalize", "--device", "gpu")
    for signature, operator in (("far", "ABS"), ("near", "EXP")):
        text = invoke("opt", path, "--signature", signature, *options).stdout
        assert f" = {operator}(" in text
    assert "no signature middle" in invoke("opt", path, "--signature", "middle", code=1).stderr
    copy = tmp_path / "graph.txt"
    copy.write_text(invoke("opt", path, *options).stdout)
    refused = invoke("opt", copy, "--signature", "far", code=1).stderr
    assert "graph.txt is a text, which has no signature far" in refused


def test_state_is_compared(attached: Attached, file: Path) -> None:
    """What is kept, too, as outputs by their names."""
    device = "gpu" if attached.target == "glsl" else attached.device
    chosen = ("--target", attached.target, "--device", device, *KEEP)
    report = as_json("verify", file, *chosen)
    assert report["ok"]
    assert [each["signature"] for each in report["choices"]] == ["prefill", "decode"]
    for each in report["choices"]:
        found = {output["name"]: output["max_error"] for output in each["outputs"]}
        assert set(found) == {"scores", "cache"} and max(found.values()) < 1e-5


def test_state_is_compared_layer_by_layer(opencl_device: str, file: Path) -> None:
    report = as_json("verify", file, "--device", opencl_device, "--layers", *KEEP)
    for each in report["choices"]:
        assert each["ok"] and "key" in {layer["name"] for layer in each["layers"]}


def test_state_is_measured(opencl_device: str, file: Path) -> None:
    chosen = ("--device", opencl_device, "--rounds", "1", "--warmup", "0")
    report = as_json("benchmark", file, *chosen, *KEEP)
    for each in report["choices"]:
        assert each["median_ms"] > 0 and each["litert"]["median_ms"] > 0
