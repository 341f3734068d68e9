"""Fixtures of all tests.

A test that needs a device asks for `opencl_device` and so runs once on every OpenCL device present,
for `opengl_device`, for `webgpu_device`, for `attached`, which is each of them in turn, for a `way`
to reach each with a slice width of its own, or for the `driver` of one language. Where nothing is
present it is skipped, or fails if TFLGPU_REQUIRE_DEVICES=1 says that there must be one.
"""

import gc
import multiprocessing
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from devices import (
    ATTACHED,
    DEVICE_OF,
    Attached,
    NeedyModule,
    Way,
    best_opencl_device,
    opencl_devices,
    reached,
    short_name,
    unavailable,
    ways,
)
from paths import TESTS
from shared_programs import hasty_drivers, programs_folder, sharing
from workers import scheduler

from tflgpu.compiler.litert import regions
from tflgpu.compiler.options import TargetName
from tflgpu.runtime import DeviceError
from tflgpu.runtime.opencl.programs import OpenCLPrograms

# Nothing of the hundreds of thousands of objects that tests consist of is garbage.
gc.disable()

# Those of Mesa optimize neither, and read this when they start.
os.environ.setdefault("GALLIVM_PERF", "nopt")

# Fixtures whose tests are not in the quick tier.
DEVICES_AND_MODELS = frozenset(
    {"opencl_device", "opengl_device", "webgpu_device", "attached", "driver", "way"}
    | {"models", "browser"}
)

# New objects after which garbage is looked for among them; compiling makes hundreds at a time.
GARBAGE = 10_000


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
        "--sweep-seed", type=int, default=0, metavar="SEED", help="the seed of these graphs"
    )
    parser.addoption(
        "--sweep-special",
        action="store_true",
        help="let these graphs compute with NaN, infinities, denormals and the largest floats",
    )
    parser.addoption(
        "--cases",
        choices=["some", "all"],
        default="some",
        help="the cases of operators, and on WebGPU the networks, that run on each device",
    )
    parser.addoption(
        "--share", type=int, default=1, metavar="N", help="run every Nth test, whatever it is"
    )


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return scheduler(config, log)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> NeedyModule:
    found: NeedyModule = NeedyModule.from_parent(parent, path=module_path)
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The quick tier: tests that are not slow and need no device and no folder of models.

    Unless all cases are asked for, a test of the compiler that runs on OpenCL's first device may be
    left out on the next one.
    """
    share = config.getoption("--share")
    left = {item for item in items if number(item) % share}
    if config.getoption("--cases") == "some":
        left |= {item for item in items if repeats(item)}
    config.hook.pytest_deselected(items=list(left))
    items[:] = [item for item in items if item not in left]
    for item in items:
        slow = item.get_closest_marker("slow") is not None
        if not slow and not DEVICES_AND_MODELS & set(getattr(item, "fixturenames", ())):
            item.add_marker("quick")


def repeats(item: pytest.Item) -> bool:
    """Whether a test of what the host does runs on OpenCL's first device, too; not of every third.

    Those are of the compiler, and of the runtime but for its folders, which are about devices.
    """
    params = item.callspec.params if hasattr(item, "callspec") else {}
    device = str(params.get("opencl_device"))
    for given in (params.get("attached"), params.get("way")):
        if isinstance(given, (Attached, Way)) and given.target == "opencl":
            device = given.device
    if device not in opencl_devices()[1:] or item.get_closest_marker("shared"):
        return False
    on_host = item.path.is_relative_to(TESTS / "compiler") or item.path.parent == TESTS / "runtime"
    return on_host and number(item, short_name(device)) % 3 > 0


def number(item: pytest.Item, *without: str) -> int:
    """A number that a test has wherever it runs, whatever devices are called."""
    name = item.nodeid
    for text in without:
        name = name.replace(text, "")
    return crc32(name.encode())


def pytest_collection_finish() -> None:
    """From here on garbage is looked for, but neither among the tests nor every few moments."""
    gc.freeze()
    gc.set_threshold(GARBAGE)
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for each thing for want of which tests were skipped, however they asked for it."""
    skipped = terminalreporter.getreports("skipped")
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    if reasons:
        terminalreporter.section("skipped tests, and why")
    for reason, tests in reasons.most_common():
        terminalreporter.write_line(f"{tests:6}  {reason}")


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
        unavailable(f"no OpenGL device is present: {error}")


@pytest.fixture(scope="session")
def webgpu_device() -> str:
    """The text of the best adapter of WebGPU, to be handed over as `device=`."""
    try:
        from tflgpu.runtime.webgpu.find import select_device

        return str(select_device())
    except DeviceError as error:
        unavailable(f"there is no adapter of WebGPU: {error}")


@pytest.fixture
def target() -> TargetName:
    """The language of tests that are not parametrized by it."""
    return "opencl"


@pytest.fixture
def driver(target: TargetName, request: pytest.FixtureRequest) -> str:
    """The name of the best device for a language."""
    if target == "opencl":
        return best_opencl_device()
    return str(request.getfixturevalue(DEVICE_OF[target]))


@pytest.fixture(params=ATTACHED, ids=str)
def attached(request: pytest.FixtureRequest) -> Attached:
    """Every device of `ATTACHED`."""
    return reached(request)


@pytest.fixture(params=ways(), ids=str)
def way(request: pytest.FixtureRequest) -> Way:
    """Every device with a slice width of its own."""
    found = request.param
    assert isinstance(found, Way)
    if request.config.getoption("--cases") == "all":
        found = replace(found, whole=True)
    if found.target != "opencl":
        request.getfixturevalue(DEVICE_OF[found.target])
    elif not opencl_devices():
        unavailable("no OpenCL device is present")
    return found


@pytest.fixture(scope="session")
def models() -> Path:
    """The folder of real models that TFLGPU_MODELS names, with networks.tsv and ops.tsv in it."""
    folder = Path(os.environ.get("TFLGPU_MODELS", ""))
    if not (folder / "networks.tsv").is_file():
        unavailable("TFLGPU_MODELS names no folder with networks.tsv")
    return folder


@pytest.fixture(scope="session", autouse=True)
def shared_programs() -> Iterator[None]:
    """What one test has built, others restore, and those of later runs."""
    shared = sharing(OpenCLPrograms.build, programs_folder())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OpenCLPrograms, "build", shared)
        yield


@pytest.fixture(scope="session", autouse=True)
def powered() -> Iterator[None]:
    """No test has to find its files after a failure of power: none waits for a disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(autouse=True)
def haste(request: pytest.FixtureRequest) -> Iterator[None]:
    """Drivers do not optimize for tests that are not marked, unless all cases are asked for."""
    optimized = request.node.get_closest_marker("optimized") is not None
    with hasty_drivers(not optimized and request.config.getoption("--cases") == "some"):
        yield


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
