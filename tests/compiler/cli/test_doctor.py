"""What `tflgpu doctor` says of drivers."""

import pytest
from commands import as_json

from tflgpu.runtime.opencl import trials
from tflgpu.runtime.opencl.drivers import Driver


def test_a_driver_that_must_be_asked_for_its_devices(
    monkeypatch: pytest.MonkeyPatch, driver: str
) -> None:
    """Mesa's has none unless a variable names those of Mesa's drivers that it may use."""
    found = trials.known()
    rusticl = trials.DriverTrial(Driver("libRusticlOpenCL.so.1", "rusticl.icd"))
    found.drivers.append(rusticl)
    monkeypatch.setattr(trials, "known", lambda: found)
    (row,) = [row for row in as_json("doctor")["opencl"] if row["name"] == str(rusticl.driver)]
    assert "no device" in row["note"] and "RUSTICL_ENABLE" in row["note"]
