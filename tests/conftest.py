"""Fixtures of all tests.

A test that needs a device asks for `opencl_device` and so runs once on every OpenCL device present,
for `opengl_device`, or for `attached`, which is each of them in turn, or for a `way` to reach each
with a slice width of its own. Where nothing is present it is skipped, or fails if
TFLGPU_REQUIRE_DEVICES=1 says that there must be one.
"""

from __future__ import annotations

import multiprocessing
import os
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest
from devices import ATTACHED, Attached, Way, opencl_devices, short_name, unavailable, ways
from paths import TESTS

from tflgpu.compiler.litert import regions
from tflgpu.runtime import DeviceError

DEVICES_AND_MODELS = frozenset(
    {"opencl_device", "opengl_device", "attached", "way", "models", "browser"}
)
"""Fixtures whose tests are not in the quick tier."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fuzz",
        type=int,
        metavar="N",
        help="try N mutations of each kind in fuzz/, not just a few",
    )
    parser.addoption(
        "--fuzz-seed", type=int, default=0, metavar="SEED", help="the seed of the first mutation"
    )
    parser.addoption(
        "--sweep",
        type=int,
        metavar="N",
        help="run N generated graphs in sweep/test_sweep.py, not just one for each operator",
    )
    parser.addoption(
        "--sweep-special",
        action="store_true",
        help="let these graphs compute with NaN, infinities, denormals and the largest floats",
    )
    parser.addoption(
        "--oclgrind",
        choices=["some", "all"],
        default="some",
        help="the cases of operators that run on Oclgrind",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The quick tier: tests that are not slow and need no device and no folder of models."""
    for item in items:
        slow = item.get_closest_marker("slow") is not None
        if not slow and not DEVICES_AND_MODELS & set(getattr(item, "fixturenames", ())):
            item.add_marker("quick")


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


@pytest.fixture(params=ATTACHED, ids=str)
def attached(request: pytest.FixtureRequest) -> Attached:
    """Every OpenCL device with OpenCL C, then the best OpenGL device with GLSL."""
    found = request.param
    assert isinstance(found, Attached)
    if found.target == "glsl":
        return Attached("glsl", request.getfixturevalue("opengl_device"))
    if not found.device:
        unavailable("no OpenCL device is present")
    return found


@pytest.fixture(params=ways(), ids=str)
def way(request: pytest.FixtureRequest) -> Way:
    """Every device with a slice width of its own."""
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


@pytest.fixture
def free_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    """However little a region of the device computes, it is worth its exchange with LiteRT."""
    monkeypatch.setattr(regions, "EXCHANGE", 0)
    monkeypatch.setattr(regions, "PER_BYTE", 0)


@pytest.fixture(scope="session")
def server() -> ForkServerContext:
    """Forks processes that have never called a driver, since drivers do not survive a fork."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["plans.processes"])
    with pytest.MonkeyPatch.context() as patch:
        # The server does not take over sys.path before it imports.
        patch.setenv("PYTHONPATH", str(TESTS))
        forkserver.ensure_running()
    return context
