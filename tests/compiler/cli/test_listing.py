"""`tflgpu explain`, `devices` and `ops`: reasons, profiles and operators."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import as_json, invoke
from graphs.steps import elementwise
from paths import DIGITS_MODEL

from tflgpu.compiler.cli.listing import operators_markdown
from tflgpu.compiler.devices import profiles
from tflgpu.compiler.ops import OPS
from tflgpu.compiler.rewrites import PIPELINE

PROFILE = "cpu_avx2"
"""For compilations whose result is not run."""


def test_explain_gives_reasons() -> None:
    value = as_json("explain", DIGITS_MODEL, "--device", PROFILE)
    assert value["findings"] == [] and value["profile"] == PROFILE
    declined = [event for event in value["passes"] if not event["applied"]]
    assert declined and all(event["reason"] and event["operators"] for event in declined)
    assert {event["pass"] for event in value["passes"]} <= {step.name for step in PIPELINE}
    fused = [event for event in value["passes"] if event["pass"] == "fuse_elementwise"]
    assert ["2 CONV_2D", "3 ADD"] in [event["operators"] for event in fused]
    choices = {item["operators"]: item for item in value["choices"]}
    fused_pair = choices["1 DEPTHWISE_CONV_2D + 2 CONV_2D + 3 ADD"]
    assert fused_pair["implementation"] == "depthwise_pointwise_rows"
    assert "conv_1x1: the window is not 1x1" in choices["0 CONV_2D"]["unsupported"]
    text = invoke("explain", DIGITS_MODEL, "--device", PROFILE).stdout
    assert all(event["reason"] in text for event in declined)
    assert text.splitlines()[-1] == "Every operator can run on the device."


def test_explain_lists_every_refusal(tmp_path: Path) -> None:
    model = elementwise(tmp_path / "m.tflite", "Mystery", "ABS", "Riddle")
    value = as_json("explain", model, "--device", PROFILE)
    found = [(item["index"], item["operator"]) for item in value["findings"]]
    assert found == [(0, "Mystery"), (2, "Riddle")]
    text = invoke("explain", model, "--device", PROFILE).stdout
    assert "0 Mystery" in text and "2 Riddle" in text and "tflgpu does not know" in text


def test_devices_shows_the_profile_of_each(opencl_device: str, tmp_path: Path) -> None:
    value = as_json("devices")
    assert [item["name"] for item in value["profiles"]] == list(profiles())
    text = invoke("devices").stdout
    name = opencl_device.partition("): ")[2]
    (line,) = [line for line in text.splitlines() if line.startswith(f"{name}  ")]
    assert max(map(len, text.splitlines())) <= 100
    built = as_json("compile", DIGITS_MODEL, "-o", tmp_path / "cache", "--device", opencl_device)
    assert f"-{line.split()[-1]}-" in Path(built["path"]).name
    assert line.split()[-1] in [item["profile"] for item in value["devices"]]


def test_devices_without_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tflgpu.runtime.devices", list)
    monkeypatch.setenv("OCL_ICD_VENDORS", "/nonsense")
    result = invoke("devices", code=1)
    assert result.stderr.startswith("error: there is no device; ")
    assert "/nonsense" in result.stderr and "\nmali " in result.stdout
    assert as_json("devices", code=1)["devices"] == []


def test_ops_lists_the_registry() -> None:
    value = as_json("ops")
    listed = {item["name"]: item for item in value["operators"]}
    assert list(listed) == sorted(name for name in OPS if not name.startswith("tflgpu."))
    for name, item in listed.items():
        assert item["dtypes"] == list(OPS[name].dtypes)
        assert item["implementations"] == [row.name for row in OPS[name].implementations]
    rows = invoke("ops", "--markdown").stdout
    assert rows == operators_markdown()
    lines = rows.splitlines()
    assert lines[1] == "|---|---|---|---|---|---|" and len(lines) == len(listed) + 2
    assert all(line.count(" | ") == 5 for line in (lines[0], *lines[2:]))
    assert "| FULLY_CONNECTED | 1 to 14 | float32 | OpenCL C, GLSL | fully_connected" in rows
    assert "CONV_2D" in invoke("ops").stdout


def test_help_names_every_command() -> None:
    text = invoke("--help").stdout
    for name in ("compile", "run", "verify", "inspect", "explain", "devices", "ops"):
        assert f"\n  {name} " in text
        assert f"Usage: main {name} " in invoke(name, "--help").stdout
