"""`tflgpu devices` and `ops`: profiles and operators."""

from pathlib import Path

import pytest
from commands import as_json, invoke
from devices import fake
from paths import DIGITS_MODEL

from tflgpu.compiler.cli.commands import listing_devices
from tflgpu.compiler.cli.commands.listing_operators import operators_markdown
from tflgpu.compiler.devices import profiles
from tflgpu.compiler.ops import OPS
from tflgpu.runtime.launch.device import Unusable

PROFILE = "cpu_avx2"  # For compilations whose result is not run.


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


def test_a_driver_of_opencl_that_does_not_work_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Unusable("a device", "opencl", "its compiler rejects a kernel", "update it")
    other = fake("WebGPU", "1", "gpu", target="wgsl")
    monkeypatch.setattr("tflgpu.runtime.devices", lambda: [other])
    for unusable, missing in (([], True), ([broken], False)):
        monkeypatch.setattr(listing_devices, "unusable", lambda found=unusable: found)
        result = invoke("devices")
        assert ("there is no OpenCL device" in result.stderr) == missing
        assert (broken.reason in result.stdout) != missing


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
    assert lines[1] == "|---|---|---|---|---|" and len(lines) == len(listed) + 2
    assert all(line.count(" | ") == 4 for line in (lines[0], *lines[2:]))
    assert "| FULLY_CONNECTED | 1 to 14 | float32 | conv_bytes" in rows
    assert "CONV_2D" in invoke("ops").stdout


def test_help_names_every_command() -> None:
    text = invoke("--help").stdout
    for name in ("compile", "run", "verify", "inspect", "explain", "devices", "ops"):
        assert f"\n  {name} " in text
        assert f"Usage: main {name} " in invoke(name, "--help").stdout
    assert "..." not in text.partition("Commands:")[2]
