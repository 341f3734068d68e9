"""`load` and `devices`: the functions an application calls.

What they need is imported when they are called: importing this module costs next to nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import DeviceError
from .launch.device import Device, DeviceInfo

if TYPE_CHECKING:
    from .session import Session


def load(
    cache: str | os.PathLike[str],
    model: str | os.PathLike[str] | None = None,
    *,
    device: str = "auto",
    store_binaries: bool = True,
) -> Session:
    """Load a compiled model and get it ready to run.

    `cache` is the folder given to the compiler, or the folder of one compiled variant. `model` is
    the model's file or its fingerprint, and may be left out if the cache holds one model. `device`
    is "auto" or a part of a device's text as `devices` gives it; OpenCL kernels run on OpenCL
    devices only, GLSL kernels on OpenGL ones. Of several variants, the newest that can run on the
    device is taken.

    The first load on a device compiles the kernels and, unless `store_binaries` is false, stores
    them beside the plan for the next; where that is impossible a CacheWarning says so.

    PlanError if there is no such plan, or it is damaged or for another kind of device; DeviceError
    if there is no such device, or it refuses a kernel (BuildError).
    """
    from .store.replacing import read_settled

    place = Path(cache)
    return read_settled(place, lambda: _load(place, model, device, store_binaries))


def _load(
    cache: Path, model: str | os.PathLike[str] | None, device: str, store_binaries: bool
) -> Session:
    from .store.cache import find_variants, newest_first, newest_runnable
    from .store.variant import Weights, open_variant, read_plan

    if not isinstance(device, str):
        raise DeviceError(f"device={device!r}: give a name, or leave it out for auto")
    folders = newest_first(find_variants(cache, model))
    # Plans cannot be read before numpy has been imported. Drivers start meanwhile, of the target
    # with which the compiler lets a variant's name begin, and weights are checked.
    target = folders[0].name.partition("-")[0]
    _start_drivers(target)
    weights = Weights(folders[0]) if len(folders) == 1 else None
    found = [(folder, read_plan(folder)) for folder in folders]
    from .session import Session

    opened = _open(device, list(dict.fromkeys(plan.target for _, plan in found)))
    try:
        folder, plan = newest_runnable(found, opened)
        variant = open_variant(folder, plan, weights or Weights(folder))
    except BaseException:
        opened.release()
        raise
    return Session(variant, opened, store_binaries)


def _start_drivers(target: str) -> None:
    """Let the drivers of a kernel language start on another thread."""
    if target == "opencl":
        from .opencl.info import DRIVERS

        DRIVERS.start()
    elif target == "glsl":
        from .opengl.egl import DRIVERS

        DRIVERS.start()


def _open(device: str, targets: Sequence[str]) -> Device:
    """A device of that name for the first of the targets that has one (DeviceError)."""
    refusals = []
    for target in targets:
        try:
            opened: Device = _driver(target).open_device(device)
            return opened
        except DeviceError as error:
            refusals.append(error)
    kinds = " and ".join(targets)
    raise DeviceError(
        "\n".join([*map(str, refusals), f"the model was compiled for {kinds}"])
    ) from refusals[0]


def _driver(target: str) -> Any:
    """The module that finds and opens the devices of a target (DeviceError)."""
    if target not in ("glsl", "opencl"):
        raise DeviceError(
            f"kernels for {target} are for other runtimes; this one runs opencl and glsl"
        )
    if target == "glsl":
        from .opengl import device as opengl

        return opengl
    from .opencl import device as opencl

    return opencl


def devices() -> list[DeviceInfo]:
    """The devices present, best first: those of OpenCL, then those of OpenGL.

    DeviceError if OpenCL is not installed; without moderngl or libEGL there is no OpenGL.
    """
    found = list(_driver("opencl").devices())
    with suppress(DeviceError):
        found += _driver("glsl").devices()
    return found
