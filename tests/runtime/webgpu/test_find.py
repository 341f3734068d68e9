"""Which adapters of WebGPU are found, and what is said of those that do not work."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from devices import unavailable
from plans import chain

from tflgpu.compiler.devices.attached import choose_profile
from tflgpu.runtime import DeviceError, devices, load

SWIFTSHADER = Path("/usr/lib/chromium/vk_swiftshader_icd.json")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's cache in which nothing is known of any adapter."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def said(preparation: str, folder: Path, device: str = "webgpu") -> str:
    """What loading prints in a process that is prepared in some way."""
    program = (
        f"import os, sys\n{preparation}\n"
        "import tflgpu\n"
        f"try: print('runs on', tflgpu.load({str(folder)!r}, device={device!r}).device)\n"
        "except tflgpu.DeviceError as error: print(error)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.stderr == ""
    return ended.stdout


def test_each_adapter_has_a_name_and_a_driver(webgpu_device: str) -> None:
    info = next(device for device in devices() if str(device) == webgpu_device)
    assert info.target == "wgsl" and info.version.startswith("WebGPU on ")
    assert info.type in ("gpu", "cpu") and info.name and info.driver
    limits = info.limits
    assert 256 % limits.alignment == 0 and limits.group >= 256 and limits.argument_size >= 1 << 27
    assert choose_profile("auto", "wgsl").name == choose_profile("webgpu", "wgsl").name == "webgpu"


def test_no_such_device(tmp_path: Path, webgpu_device: str) -> None:
    with pytest.raises(DeviceError, match="no WebGPU device has 'Voodoo' in its name") as caught:
        load(chain(target="wgsl").write(tmp_path), device="Voodoo")
    assert webgpu_device in str(caught.value)


def test_without_wgpu_the_error_says_what_to_install(tmp_path: Path) -> None:
    output = said("sys.modules['wgpu'] = None", chain(target="wgsl").write(tmp_path))
    assert "wgpu, which is not installed" in output and "pip install 'tflgpu[webgpu]'" in output


def test_without_an_adapter_the_error_says_what_to_install(
    tmp_path: Path, webgpu_device: str, cache: Path
) -> None:
    preparation = "os.environ['VK_DRIVER_FILES'] = os.environ['VK_ICD_FILENAMES'] = '/none'"
    output = said(preparation, chain(target="wgsl").write(tmp_path))
    assert "there is no WebGPU device; a driver for Vulkan, Metal or Direct3D 12" in output
    assert "apt install mesa-vulkan-drivers" in output


def test_an_adapter_that_crashes(tmp_path: Path, webgpu_device: str, cache: Path) -> None:
    """The process that tries it ends, this one does not; and it is tried once."""
    folder = chain(target="wgsl").write(tmp_path)
    broken = tmp_path / "broken"
    broken.mkdir()
    # Read by every Python that starts, the one that tries the adapter too.
    (broken / "sitecustomize.py").write_text(
        "import sys\n"
        "if 'tflgpu.runtime.webgpu.probe' in sys.orig_argv:\n"
        "    import os, wgpu.backends.wgpu_native as native\n"
        "    native.GPUAdapter.request_device_sync = lambda *_, **__: os.abort()\n"
    )
    preparation = f"os.environ['PYTHONPATH'] = {str(broken)!r}"
    for _ in range(2):
        output = said(preparation, folder)
        assert "cannot be used: it crashed (SIGABRT) while opening" in output
        assert "update its driver; `tflgpu doctor` tries it again" in output
        preparation = ""
    (known,) = cache.rglob("adapters/*.json")
    found = json.loads(known.read_text())
    assert [tried[2][:10] for tried in found["adapters"]] == ["it crashed"] and not found["overdue"]
    known.write_text("damaged")
    assert said("", folder).startswith("runs on ")
    known.write_text(json.dumps(found | {"overdue": True}))
    assert "cannot be used" in said("", folder)
    a_day_ago = time.time() - 25 * 3600
    os.utime(known, (a_day_ago, a_day_ago))
    assert said("", folder).startswith("runs on ")


def test_swiftshader_takes_the_place_of_a_gpu(tmp_path: Path, cache: Path) -> None:
    if not SWIFTSHADER.exists():
        unavailable("Chromium's SwiftShader is not installed")
    preparation = f"os.environ['VK_ICD_FILENAMES'] = {str(SWIFTSHADER)!r}"
    folder = chain(target="wgsl").write(tmp_path)
    assert said(preparation, folder, "swiftshader").startswith("runs on SwiftShader")
