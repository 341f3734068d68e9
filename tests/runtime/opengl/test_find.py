"""Finding OpenGL devices, and what is said where there is none."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from plans import LENGTH, chain, chain_result

from tflgpu.compiler import OptionError
from tflgpu.compiler.devices.attached import choose_profile, profile_for
from tflgpu.runtime import DeviceError, devices, load
from tflgpu.runtime.opengl import egl


def test_each_device_has_a_name_and_versions(opengl_device: str) -> None:
    found = [info for info in devices() if info.target == "glsl"]
    info = found[0]
    assert str(info) == opengl_device
    assert "OpenGL" in info.version and info.driver and info.driver != info.version
    assert info.type in ("gpu", "cpu")
    assert info.limits.alignment & (info.limits.alignment - 1) == 0
    assert len(info.limits.group_sizes) == 3
    assert [item.type for item in found] == sorted((item.type for item in found), reverse=True)
    assert profile_for(info).slice_width == 4


def test_no_such_device(tmp_path: Path, opengl_device: str) -> None:
    folder = chain(target="glsl").write(tmp_path)
    with pytest.raises(DeviceError) as caught:
        load(folder, device="Voodoo")
    message = str(caught.value)
    assert message.startswith("no OpenGL device has 'Voodoo' in its name; there are:\n  ")
    assert opengl_device in message and message.endswith("the model was compiled for glsl")
    with pytest.raises(DeviceError, match=r"or compile for a device profile: .*gpu"):
        choose_profile("Voodoo", "glsl")


def test_the_plan_picks_the_kind(tmp_path: Path, opencl_device: str, opengl_device: str) -> None:
    """A cache with both targets: the device's name decides, or else the newest variant."""
    chain(target="glsl").write(tmp_path, "glsl")
    chain().write(tmp_path, "opencl")
    for name, target in ((opencl_device, "opencl"), (opengl_device, "glsl"), ("auto", "opencl")):
        with load(tmp_path, device=name) as session:
            assert session.plan.target == session.device.target == target
            a, b = np.random.default_rng(3).uniform(-1, 1, (2, LENGTH)).astype(np.float32)
            np.testing.assert_allclose(
                session.run([a, b])["y"], chain_result(a, b), rtol=1e-5, atol=1e-5
            )


def test_devices_of_opengl_get_a_profile() -> None:
    assert choose_profile("auto", "glsl").name == "gpu"
    assert choose_profile("gles31", "glsl").name == "gles31"
    with pytest.raises(OptionError, match=r"slices of 16 lanes, .* have 4; choose one of .*gles31"):
        choose_profile("cpu_avx512", "glsl")


@pytest.mark.parametrize("found", [0, 1])
def test_a_configuration_is_for_contexts_of_the_kind(
    found: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is for contexts of the kind, whatever surfaces it has; a context can do without."""
    asked: list[list[int]] = []

    def choose(display: int, wanted: Any, config: Any, size: int, count: Any) -> int:
        asked.append(list(wanted))
        assert display == 7 and size == 1
        config._obj.value, count._obj.value = 11, found
        return 1

    monkeypatch.setattr(egl, "_library", lambda: SimpleNamespace(eglChooseConfig=choose))
    assert egl._config(7, 0x0040) == (11 if found else None)
    renderable, surfaces, end = 0x3040, 0x3033, 0x3038
    assert asked == [[renderable, 0x0040, surfaces, 0, end]]


def failure(preparation: str, folder: Path) -> str:
    """What loading says in a process that is prepared in some way."""
    program = (
        f"import sys, ctypes\n{preparation}\n"
        "from tflgpu.runtime import DeviceError, load\n"
        f"try: load({str(folder)!r})\n"
        "except DeviceError as error: print(error)"
    )
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout


def test_without_moderngl_the_error_says_what_to_install(tmp_path: Path) -> None:
    output = failure("sys.modules['moderngl'] = None", chain(target="glsl").write(tmp_path))
    assert "moderngl, which is not installed" in output and "pip install 'tflgpu[gl]'" in output


def test_without_egl_the_error_says_what_to_install(tmp_path: Path, opengl_device: str) -> None:
    preparation = (
        "original = ctypes.CDLL\n"
        "def fail(name, *rest):\n"
        "    if 'EGL' in str(name): raise OSError(name)\n"
        "    return original(name, *rest)\n"
        "ctypes.CDLL = fail"
    )
    output = failure(preparation, chain(target="glsl").write(tmp_path))
    assert "libEGL, which is not installed" in output
    assert "apt install libegl1 libgl1-mesa-dri" in output


def test_without_a_driver_the_error_says_what_to_install(
    tmp_path: Path, opengl_device: str
) -> None:
    """With the library that finds drivers, and no driver for it to find."""
    preparation = "import os; os.environ['__EGL_VENDOR_LIBRARY_DIRS'] = '/'"
    output = failure(preparation, chain(target="glsl").write(tmp_path))
    assert "there is no OpenGL device; OpenGL ES 3.1 or OpenGL 4.3 is needed" in output
    assert "apt install libegl1 libgl1-mesa-dri" in output
