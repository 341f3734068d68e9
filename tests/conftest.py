"""Fixtures of all tests.

Tests assert values, draw their inputs from a fixed seed and never use zeros. A test that needs a
device asks for `opencl_device` and so runs once on every OpenCL device present, for
`opengl_device`, or for `attached`, which is each of them in turn, or for a `way` to reach each with
a slice width of its own. Where nothing is present it is skipped, or fails if
TFLGPU_REQUIRE_DEVICES=1 says that there must be one.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tflgpu.runtime import DeviceError

REQUIRED = os.environ.get("TFLGPU_REQUIRE_DEVICES") == "1"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--sweep",
        type=int,
        metavar="N",
        help="run N generated graphs in test_sweep.py, not just one for each operator",
    )


def unavailable(reason: str) -> NoReturn:
    """Skip the running test, or fail it where everything must be present."""
    if REQUIRED:
        pytest.fail(f"{reason}, and TFLGPU_REQUIRE_DEVICES=1 forbids skipping")
    pytest.skip(reason)


def opencl_devices() -> list[str]:
    """The text of each OpenCL device present, which `device=` accepts as a whole."""
    try:
        from tflgpu.runtime.opencl.find import devices

        return [str(device) for device in devices()]
    except DeviceError:
        return []


def short_name(device: str) -> str:
    """Such as PoCL-3.1+debian, for the names of tests: what follows the version of OpenCL."""
    words = device.split("OpenCL ")[-1].split()[1:3]
    return "-".join(words).rstrip("):,") or "none"


@pytest.fixture(params=opencl_devices() or [""], ids=short_name)
def opencl_device(request: pytest.FixtureRequest) -> str:
    """The name of an OpenCL device, to be handed over as `device=`."""
    if not request.param:
        unavailable("no OpenCL device is present")
    return str(request.param)


@pytest.fixture(scope="session")
def opengl_device() -> str:
    """The name of the best OpenGL device, to be handed over as `device=`."""
    try:
        from tflgpu.runtime.opengl.find import select_device

        return str(select_device())
    except DeviceError as error:
        unavailable(f"there is no OpenGL device: {error}")


@dataclass(frozen=True)
class Attached:
    """A device, and the language its driver takes."""

    target: str
    device: str

    def __str__(self) -> str:
        return f"{self.target}-{short_name(self.device)}" if self.device else self.target


@pytest.fixture(
    params=[*(Attached("opencl", name) for name in opencl_devices() or [""]), Attached("glsl", "")],
    ids=str,
)
def attached(request: pytest.FixtureRequest) -> Attached:
    """Every OpenCL device with OpenCL C, then the best OpenGL device with GLSL."""
    found = request.param
    assert isinstance(found, Attached)
    if found.target == "glsl":
        return Attached("glsl", request.getfixturevalue("opengl_device"))
    if not found.device:
        unavailable("no OpenCL device is present")
    return found


def device_kinds() -> list[Any]:
    """The classes of the devices there can be here."""
    from tflgpu.runtime.opencl.device import OpenCLDevice

    try:
        from tflgpu.runtime.opengl.device import OpenGLDevice
    except DeviceError:
        return [OpenCLDevice]
    return [OpenCLDevice, OpenGLDevice]


@dataclass(frozen=True)
class Way:
    """A language, a profile to compile for, and the device that runs what comes of it."""

    target: str
    profile: str
    device: str
    others: slice
    """Cases that run with the other kernels that suit them, too."""

    def __str__(self) -> str:
        return f"{self.target}-{self.profile}-{short_name(self.device)}"


def ways() -> list[Way]:
    """Every OpenCL device with one slice width, both if there is one device; then OpenGL.

    The first two share the cases that run with more than one kernel.
    """
    devices = opencl_devices() or [""]
    profiles = ("cpu_avx512", "cpu")
    rows = [
        Way("opencl", profiles[i % 2], devices[i % len(devices)], slice(i, None, 2))
        for i in range(max(2, len(devices)))
    ]
    return [*rows, Way("glsl", "gpu", "auto", slice(0))]


@pytest.fixture(params=ways(), ids=str)
def way(request: pytest.FixtureRequest) -> Way:
    assert isinstance(request.param, Way)
    if request.param.target == "glsl":
        request.getfixturevalue("opengl_device")
    elif not opencl_devices():
        unavailable("no OpenCL device is present")
    return request.param


@pytest.fixture(scope="session")
def models() -> Path:
    """The folder of real models that TFLGPU_MODELS names, with networks.tsv and ops.tsv in it."""
    folder = Path(os.environ.get("TFLGPU_MODELS", ""))
    if not (folder / "networks.tsv").is_file():
        unavailable("TFLGPU_MODELS names no folder with networks.tsv")
    return folder
