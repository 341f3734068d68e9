"""Which variant and which OpenCL device are chosen, and what an import costs."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from plans import LENGTH, Parts, chain, misaligned

from tflgpu.runtime import DeviceError, PlanError, devices, load
from tflgpu.runtime.launch.device import DeviceInfo
from tflgpu.runtime.opencl import find, library, pocl
from tflgpu.runtime.opencl.find import select_device
from tflgpu.runtime.opencl.library import OpenCLError
from tflgpu.runtime.opencl.pocl import pocl_version

# -- choosing ---------------------------------------------------------------------------------


def test_newest_runnable_variant(tmp_path: Path, opencl_device: str) -> None:
    def write(parts: Parts, name: str, age: int) -> None:
        folder = parts.write(tmp_path, name)
        os.utime(folder / "plan.tflgpu", (age, age))

    write(chain().replacing(profile="old"), "a", 1000)
    write(chain().replacing(profile="new"), "b", 2000)
    write(misaligned().replacing(profile="newest, but not for this device"), "c", 3000)
    with load(tmp_path, "ab" * 32, device=opencl_device) as session:
        assert session.plan.profile == "new"


def test_no_runnable_variant(tmp_path: Path, opencl_device: str) -> None:
    for name in ("a", "b"):
        misaligned().write(tmp_path, name)
    with pytest.raises(PlanError) as caught:
        load(tmp_path, device=opencl_device)
    message = str(caught.value)
    assert "no variant in" in message
    assert "\n  a: dispatch 0 (ADD -> sum) has" in message
    assert "\n  b: dispatch 0 (ADD -> sum) has" in message


def test_devices(opencl_device: str) -> None:
    info = next(device for device in devices() if str(device) == opencl_device)
    assert info.name and info.platform and info.version and info.driver and info.vendor
    assert info.type in ("gpu", "accelerator", "cpu", "other")
    assert info.vector_width >= 1
    assert info.alignment & (info.alignment - 1) == 0
    assert info.max_group >= 1 and len(info.max_group_sizes) >= 3
    assert info.max_allocation >= 1 << 20
    assert select_device(opencl_device.upper()) == info


def test_auto_takes_the_first(opencl_device: str) -> None:
    assert select_device() == select_device("auto") == find.devices()[0]


def test_no_such_device(opencl_device: str) -> None:
    with pytest.raises(DeviceError) as caught:
        select_device("Voodoo")
    assert str(caught.value) == "no OpenCL device has 'Voodoo' in its name; there are:" + "".join(
        f"\n  {device}" for device in find.devices()
    )


def fake(platform: str, version: str, type_: str, unified: bool = True) -> DeviceInfo:
    """A description with what the ranking looks at."""
    return DeviceInfo(
        name="fake",
        platform=platform,
        version=version,
        driver="1",
        type=type_,
        vendor="nobody",
        vector_width=4,
        alignment=128,
        max_group=256,
        max_group_sizes=(256, 256, 256),
        max_allocation=1 << 30,
        local_memory=1 << 15,
        compute_units=2,
        unified=unified,
    )


def test_ranking() -> None:
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


def test_pocl_version() -> None:
    assert pocl_version("OpenCL 3.0 PoCL 3.1+debian  Linux") == ((3, 1), True, 0)
    assert pocl_version("OpenCL 3.0 PoCL 3.0-rc2  Linux") == ((3, 0), False, 2)
    assert pocl_version("OpenCL 3.0 CUDA 12.4.89") == ((), False, 0)


def older_than_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every device look as one of a PoCL does that is older than the processor."""
    version = b"OpenCL 3.0 PoCL HSTR: pthread-x86_64-unknown-linux-gnu-generic\0"
    original = library.call

    def refuse(function: str, *arguments: Any) -> None:
        if function == "clBuildProgram":
            raise OpenCLError(function, -11)
        original(function, *arguments)

    monkeypatch.setattr(pocl, "query", lambda *_: version)
    monkeypatch.setattr(pocl, "call", refuse)


def test_a_driver_older_than_the_processor(
    monkeypatch: pytest.MonkeyPatch, opencl_device: str
) -> None:
    """It cannot compile, so it is not offered, and the error says what to install instead."""
    older_than_the_processor(monkeypatch)
    assert find.devices() == []
    with pytest.raises(DeviceError) as caught:
        select_device()
    assert "cannot compile for this processor" in str(caught.value)
    assert "pip install 'tflgpu[intel]'" in str(caught.value)


def test_no_device_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "_present", list)
    assert find.devices() == []
    with pytest.raises(DeviceError, match=re.escape("pip install 'tflgpu[pocl]'")):
        select_device()


def test_no_loader() -> None:
    """Without OpenCL's library the error says what to install."""
    code = (
        "import ctypes\n"
        "def fail(name, *_, **__): raise OSError(name)\n"
        "ctypes.CDLL = fail\n"
        "from tflgpu.runtime import DeviceError, devices\n"
        "try: devices()\n"
        "except DeviceError as error: print(error)\n"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "OpenCL is not installed" in output.stdout
    assert "pip install 'tflgpu[pocl]'" in output.stdout


def test_import_is_cheap() -> None:
    program = "import sys, tflgpu.runtime; print(*sys.modules)"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    heavy = {"numpy", "pyopencl", "flatbuffers", "filelock", "networkx", "jinja2", "tflite"}
    assert "tflgpu.runtime" in output.stdout.split()
    assert heavy.isdisjoint(output.stdout.split())


def test_a_warm_start_imports_little(tmp_path: Path, opencl_device: str) -> None:
    """Nothing that only compiling or storing needs, and no wrapper of the driver."""
    folder = chain().write(tmp_path)
    load(folder, device=opencl_device).close()
    program = (
        "import sys, tflgpu.runtime\n"
        f"session = tflgpu.runtime.load({str(folder)!r}, device={opencl_device!r})\n"
        f"session.run([[1.0] * {LENGTH}] * 2)\n"
        "print(*sys.modules)"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    loaded = set(output.stdout.split())
    assert {"numpy", "tflgpu.runtime.opencl"} <= loaded
    assert loaded.isdisjoint({"pyopencl", "filelock", "tempfile", "jinja2", "tflgpu.compiler"})
    assert "flatbuffers" not in loaded


def test_a_plan_is_read_before_numpy_is_imported(tmp_path: Path) -> None:
    """So that drivers can start meanwhile."""
    folder = chain().write(tmp_path)
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from tflgpu.runtime.store.variant import read_plan\n"
        f"print(read_plan(Path({str(folder)!r})).model, *sys.modules)"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    model, *loaded = output.stdout.split()
    assert model == "chain.tflite"
    assert {"numpy", "flatbuffers"}.isdisjoint(loaded)
