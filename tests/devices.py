"""The devices tests run on, and how they are reached."""

import json
import os
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pytest

import tflgpu
from tflgpu.compiler.devices import profile
from tflgpu.compiler.devices.attached import choose_profile
from tflgpu.compiler.options import TargetName
from tflgpu.runtime import DeviceError
from tflgpu.runtime.launch.device import DeviceInfo
from tflgpu.runtime.opencl.trials import known
from tflgpu.runtime.plan.running import Limits

REQUIRED = os.environ.get("TFLGPU_REQUIRE_DEVICES") == "1"


def unavailable(reason: str) -> NoReturn:
    """Skip the running test, or fail it where everything must be present."""
    if REQUIRED:
        pytest.fail(f"{reason}, and TFLGPU_REQUIRE_DEVICES=1 forbids skipping")
    pytest.skip(reason)


def need_programs(*names: str) -> None:
    """Skip the running test, or fail it, where one of these programs is not installed."""
    for name in names:
        if shutil.which(name) is None:
            unavailable(f"not installed: {name}")


def need_packages(*names: str) -> None:
    """Skip the running test, or fail it, where one of these packages of Python is missing."""
    for name in names:
        if find_spec(name) is None:
            unavailable(f"not installed: the Python package {name}")


class NeedyModule(pytest.Module):
    """A file of tests, which are skipped together if it imports a package that is missing."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        try:
            return super().collect()
        except self.CollectError as error:
            cause = error.__cause__
            if isinstance(cause, ModuleNotFoundError) and cause.name:
                need_packages(cause.name.partition(".")[0])
            raise


@cache
def opencl_devices() -> Sequence[str]:
    """The text of each OpenCL device present, which `device=` accepts as a whole."""
    try:
        from tflgpu.runtime.opencl.find import devices

        return tuple(str(device) for device in devices())
    except DeviceError:
        return ()


def best_opencl_device() -> str:
    """The first of them; without any, the running test is skipped."""
    if not opencl_devices():
        unavailable("no OpenCL device is present")
    return opencl_devices()[0]


def only_instructions(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let devices have these instructions alone of their processor; with none, all is portable."""
    # What is found out in the test would be remembered with them.
    monkeypatch.setattr(known(), "_remember", lambda: None)
    for trial in known().drivers:
        for tried in trial.devices:
            monkeypatch.setattr(
                tried, "instructions", [name for name in tried.instructions if name in names]
            )


def its_driver_alone(device: str, folder: Path) -> str:
    """A folder as OCL_ICD_VENDORS of a process that tries no driver but that of a device."""
    folder.mkdir(exist_ok=True)
    for trial in known().drivers:
        if trial.driver.library and any(device.endswith(each.name) for each in trial.devices):
            (folder / "alone.icd").write_text(f"{trial.driver.library}\n")
    return str(folder)


def need_lanes(device: str, lanes: int) -> None:
    """Skip the running test where a device cannot handle vectors of so many floats."""
    tried = [each for trial in known().drivers for each in trial.devices]
    if any(each.name == device and each.widest() < lanes for each in tried):
        pytest.skip(f"the driver cannot handle vectors of {lanes} floats")


def short_name(device: str) -> str:
    """Such as PoCL-3.1+debian, for the names of tests: what follows the version of OpenCL."""
    words = device.split("OpenCL ")[-1].split()[1:3]
    return "-".join(words).rstrip("):,") or "none"


@dataclass(frozen=True)
class Attached:
    """A device, and the language its driver takes."""

    target: TargetName
    device: str

    @property
    def keeps_binaries(self) -> bool:
        """Whether compiled kernels are stored beside the plan."""
        return self.target != "wgsl"

    def __str__(self) -> str:
        return f"{self.target}-{short_name(self.device)}" if self.device else self.target


# Every OpenCL device with OpenCL C, then the best devices of OpenGL with GLSL and of WebGPU with
# WGSL.
ATTACHED = (
    *(Attached("opencl", name) for name in opencl_devices() or [""]),
    Attached("glsl", ""),
    Attached("wgsl", ""),
)

# The fixture of the device that runs a target's kernels.
DEVICE_OF = {"glsl": "opengl_device", "wgsl": "webgpu_device"}


def reached(request: pytest.FixtureRequest) -> Attached:
    """The device that a fixture's parameter names; the running test is skipped without it."""
    found = request.param
    assert isinstance(found, Attached)
    if found.target != "opencl":
        return Attached(found.target, request.getfixturevalue(DEVICE_OF[found.target]))
    if not found.device:
        unavailable("no OpenCL device is present")
    return found


@dataclass(frozen=True)
class Way:
    """A language, a profile to compile for, and the device that runs what comes of it."""

    target: TargetName
    profile: str
    device: str
    whole: bool = True  # Whether all cases of operators run this way, not only a sample of them.

    def __str__(self) -> str:
        return f"{self.target}-{self.profile}-{short_name(self.device)}"


def ways() -> list[Way]:
    """Every OpenCL device with its widest slices or, every other one, with slices of 4; OpenGL and
    WebGPU.

    A single device has both. Wide slices run all cases of operators; the others, with slices of 4,
    run a sample, or all with --cases all.
    """
    devices = list(opencl_devices() or [""])
    rows = []
    for i, device in enumerate(devices if len(devices) > 1 else devices * 2):
        fitting = fitting_profiles(device)
        if i % 2 == 0:
            rows.append(Way("opencl", fitting[-1], device))
        else:
            rows.append(Way("opencl", fitting[0], device, whole=False))
    rows.append(Way("glsl", "gpu", "auto", whole=False))
    rows.append(Way("wgsl", "webgpu", "auto", whole=False))
    return rows


def by_turns(kinds: Iterable[str], every: int = 1) -> pytest.MarkDecorator:
    """Parametrizes a test by `kind` and `way`: wide slices run each kind, the others in turns, of
    `every` so many kinds one."""
    first, *others = ways()
    rows = [
        pytest.param(kind, way, id=f"{way}-{kind}", marks=pytest.mark.shared)
        for i, kind in enumerate(kinds)
        for way in (first, *others)
        if way is first or i % (len(others) * every) == others.index(way) * every
    ]
    return pytest.mark.parametrize(("kind", "way"), rows, indirect=["way"])


def fitting_profiles(device: str) -> list[str]:
    """The profile of a GPU; of the processors', those whose slices fit the vectors, widest last.

    Drivers fail on kernels that need many more registers than there are.
    """
    if is_gpu(device):
        return [choose_profile(device, "opencl").name]
    width = max((info.vector_width for info in described() if str(info) == device), default=4)
    names = ("cpu", "cpu_avx2", "cpu_avx512")
    return [name for name in names if profile(name).slice_width <= max(width, 4)]


def is_gpu(device: str) -> bool:
    """Whether an OpenCL device is one, with memory of its own and no persistent kernels."""
    return any(info.type == "gpu" for info in described() if str(info) == device)


@cache
def described() -> tuple[DeviceInfo, ...]:
    """What is known of all devices, which every file of tests asks for several times."""
    return tuple(tflgpu.devices())


def device_kinds() -> list[Any]:
    """The classes of the devices there can be here."""
    from tflgpu.runtime.opencl.device import OpenCLDevice

    kinds: list[Any] = [OpenCLDevice]
    with suppress(DeviceError):
        from tflgpu.runtime.opengl.device import OpenGLDevice

        kinds.append(OpenGLDevice)
    with suppress(DeviceError):
        from tflgpu.runtime.webgpu.device import WebGPUDevice

        kinds.append(WebGPUDevice)
    return kinds


def fake(platform: str, version: str, type_: str, unified: bool = True, **said: Any) -> DeviceInfo:
    """The description of a device that does not exist, of which only some things matter."""
    known: dict[str, Any] = {
        "name": "fake",
        "driver": "1",
        "vendor": "nobody",
        "vector_width": 4,
        "limits": Limits(128, 256, (256, 256, 256), local_memory=1 << 15, argument_size=1 << 30),
        "compute_units": 2,
    }
    described = {"platform": platform, "version": version, "type": type_, "unified": unified}
    return DeviceInfo(**{**known, **described, **said})


def own_profile(folder: Path, name: str, **changes: int | bool | str | list[str]) -> str:
    """The path of a profile that differs from another one in some values."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in {"like": name, **changes}.items()]
    path = folder / f"{name}_{abs(hash(str(changes)))}.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)
