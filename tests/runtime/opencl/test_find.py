"""Which OpenCL device is chosen, and what is said where none can be."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from devices import fake

from tflgpu.runtime import DeviceError, devices
from tflgpu.runtime.opencl import find, platforms
from tflgpu.runtime.opencl.find import pocl_version, select_device


def test_each_device_has_names_and_a_type(opencl_device: str) -> None:
    info = next(device for device in devices() if str(device) == opencl_device)
    assert info.name and info.platform and info.version and info.driver and info.vendor
    assert info.type in ("gpu", "accelerator", "cpu", "other")
    assert info.vector_width >= 1
    limits = info.limits
    assert limits.alignment & (limits.alignment - 1) == 0
    assert limits.group >= 1 and min(limits.group_sizes) >= 1
    assert limits.buffer_size >= 1 << 20
    assert select_device(opencl_device.upper()) == info


def test_auto_takes_the_first(driver: str) -> None:
    assert select_device() == select_device("auto") == find.devices()[0]


def test_no_such_device(driver: str) -> None:
    with pytest.raises(DeviceError) as caught:
        select_device("Voodoo")
    assert str(caught.value) == "no OpenCL device has 'Voodoo' in its name; there are:" + "".join(
        f"\n  {device}" for device in find.devices()
    )


def test_the_best_device_comes_first() -> None:
    best_first = [
        fake("NVIDIA CUDA", "OpenCL 3.0 CUDA 12.4", "gpu", False),
        fake("Intel(R) OpenCL Graphics", "OpenCL 3.0", "gpu"),
        fake("Intel(R) OpenCL", "OpenCL 3.0 LINUX", "cpu"),
        fake("Portable Computing Language", "OpenCL 3.0 PoCL 10.0 Linux", "cpu"),
        fake("Portable Computing Language", "OpenCL 3.0 PoCL 3.1+debian", "cpu"),
        fake("Portable Computing Language", "OpenCL 3.0 PoCL 3.0", "cpu"),
        fake("Portable Computing Language", "OpenCL 3.0 PoCL 3.0-rc2 Linux", "cpu"),
        fake("Other", "OpenCL 1.2", "cpu"),
    ]
    worst_first = best_first[::-1]
    assert sorted(worst_first, key=find.preference, reverse=True) == best_first


def test_the_version_of_pocl_is_read() -> None:
    assert pocl_version("OpenCL 3.0 PoCL 3.1+debian  Linux") == ((3, 1), True, 0)
    assert pocl_version("OpenCL 3.0 PoCL 3.0-rc2  Linux") == ((3, 0), False, 2)
    assert pocl_version("OpenCL 3.0 CUDA 12.4.89") == ((), False, 0)


@pytest.mark.parametrize(
    ("machine", "command"),
    [("x86_64", "pip install 'tflgpu[cpu]'"), ("aarch64", "apt install pocl-opencl-icd")],
)
def test_no_device_at_all(monkeypatch: pytest.MonkeyPatch, machine: str, command: str) -> None:
    """The driver from PyPI is for x86-64 alone."""
    monkeypatch.setattr(platforms, "devices", lambda _: [])
    monkeypatch.setattr(find, "unusable", list)
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "", "", "", machine)))
    monkeypatch.delenv("OCL_ICD_VENDORS", raising=False)
    assert find.devices() == []
    with pytest.raises(DeviceError, match=re.escape(f"with: {command}")):
        select_device()


def test_a_folder_without_drivers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platforms, "devices", lambda _: [])
    monkeypatch.setattr(find, "unusable", list)
    monkeypatch.setenv("OCL_ICD_VENDORS", "/nonsense")
    with pytest.raises(DeviceError, match=r"OCL_ICD_VENDORS makes .* in /nonsense only; unset it"):
        select_device()


def test_without_opencl_the_error_says_what_to_install(tmp_path: Path) -> None:
    """Without drivers and OpenCL's library the error says what to install."""
    code = (
        "import ctypes\n"
        "def fail(name, *_, **__): raise OSError(name)\n"
        "ctypes.CDLL = fail\n"
        "from tflgpu.runtime import DeviceError, devices\n"
        "try: devices()\n"
        "except DeviceError as error: print(error)\n"
    )
    output = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"OCL_ICD_VENDORS": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "OpenCL is not installed" in output.stdout
    assert "pip install 'tflgpu[cpu]'" in output.stdout
