"""`load`, the function that an application calls.

It imports what it needs when it is called, so importing this module is cheap.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .drivers import RUNNABLE, open_device, start_drivers
from .environment import starting_libraries
from .errors import DeviceError, PlanError
from .waiting import waiting

if TYPE_CHECKING:
    from pathlib import Path

    from .custom_op import CustomOp
    from .launch.device import Device
    from .plan.records import Plan
    from .remote.keys import Trust
    from .session import Session


FINGERPRINT_DIGITS = 64  # Characters in the name of a model's folder.
BUILD = "build the kernels, or restore them"  # The step of loading in which a driver compiles.
Progress = Callable[[str], None]  # Is called with the name of each step as it begins.


class Loading:
    """Is told of the steps of loading a model, and may stand in for the device; this does not."""

    def __init__(self, progress: Progress | None = None, shows: bool = False) -> None:
        """`shows` has a terminal show the step that takes longest."""
        self._progress, self._shows = progress, shows

    def step(self, name: str) -> AbstractContextManager[None]:
        """A block for a step to take place in."""
        if self._progress:
            self._progress(name)
        return waiting(name) if self._shows and name == BUILD else nullcontext()

    def opened(self, device: Device) -> Device:
        """The device for the session, given the one that was opened."""
        return device


def load(
    cache: str | os.PathLike[str],
    model: str | os.PathLike[str] | None = None,
    *,
    device: str = "auto",
    context: Any = None,
    store_binaries: bool = True,
    custom_ops: Mapping[str, CustomOp] | None = None,
    trust: Trust = (),
    timeout: float = 10.0,
    progress: Progress | None = None,
) -> Session:
    """Load a compiled model onto a device and return it as a `Session`, ready to run.

    `cache` is the folder that the model was compiled into, or the folder of the model or of one
    compiled variant in it. A .tflite file is compiled for the device into the user's own cache,
    unless that has been done; `tflgpu.compile` has options for that. `model` is the .tflite file,
    its name or the first digits of its fingerprint (hex SHA-256 digest), and may be omitted if the
    cache holds only one model.

    `device` is "auto" for the best device, or part of a device's text as `devices` returns it,
    ignoring case. Plans for opencl run on OpenCL devices, plans for glsl on OpenGL devices, and
    plans for wgsl on those of WebGPU, which have "WebGPU" in their text. If the cache holds several
    variants of the model, the newest one that can run on the device is loaded; a CacheWarning says
    of those whose plan is damaged that they are left out.

    `context` is the caller's, for `Session.bind` to use its memory: a pyopencl.Context, a
    pyopencl.CommandQueue, which is then used instead of a queue of its own and must be in-order, a
    moderngl.Context, whose program in use and bindings of buffers then change, or a wgpu.GPUDevice.
    `device` names one of its devices.

    The first load on a device compiles the kernels, which takes seconds. Unless `store_binaries` is
    false, they are stored beside the plan and restored by later loads; a CacheWarning says if they
    could not be stored.

    `custom_ops` has a function for each operator that the model was compiled to leave to the
    application. It is called with an array for each operand and returns an array, or a sequence of
    them for several outputs, of the shapes and dtypes in the model; if it has a parameter
    `options`, it gets the operator's options as bytes.

    `cache` may also be the URL of a store, of a model in it or of one variant, such as
    "s3://models" or "sftp://host/models/<fingerprint>/<variant>". That variant alone is fetched
    into the user's own cache, from where it is loaded while the store cannot be reached. `trust` is
    then whose variants to run: public keys, given as files or as text, one of which must have
    signed the variant; or "anyone". With keys, a folder must be a store, too, for nothing in a
    cache is signed: whoever can write to it decides what runs. `timeout` is for how many seconds a
    store may be silent before it counts as one that cannot be reached, as does one that sends less
    than 1 KiB a second; a download may take as long as more arrives.

    `progress` is called with the name of each step as it begins, such as "rewrite" of a
    model that is compiled, or "build the kernels, or restore them", which takes longest. Without
    it, a bar is shown while that lasts if standard error is a terminal.

    PlanError if there is no such plan, its files are damaged or writable by other users, it
    cannot run on the device, is not trusted, or a function is missing. StoreError if a store cannot
    be reached or a key cannot be read. DeviceError if there is no such device, a
    driver call fails, or LiteRT is needed but not installed; BuildError, a DeviceError, if the
    driver rejects a kernel.
    """
    if not isinstance(device, str):
        raise DeviceError(f'device={device!r}: give a name, or "auto"')
    watch = Loading(progress, shows=progress is None)
    with starting_libraries():
        if context is None:
            start_drivers(_target_by_name(cache), device)
        with watch.step("find the model"):
            place, model = located(cache, model, device, trust, context, timeout)
        return load_folder(place, model, device, context, store_binaries, custom_ops, watch)


def located(
    cache: str | os.PathLike[str],
    model: str | os.PathLike[str] | None,
    device: str,
    trust: Trust,
    context: Any = None,
    timeout: float = 10.0,
) -> tuple[Path, str | os.PathLike[str] | None]:
    """The folder to load from, and which model in it; what a store has is fetched, as `load` says.

    PlanError, StoreError or DeviceError, as `load` raises them.
    """
    from pathlib import Path

    from .remote.url import is_url

    if not is_url(cache) and (not trust or trust == "anyone"):
        return Path(cache), model
    from .remote.fetch import fetch

    def choose(found: Sequence[tuple[Path, Plan]]) -> Path:
        return _first_runnable(found, device, context)

    store = cache if is_url(cache) else _signed(Path(cache), model)
    return fetch(store, model, trust, choose, timeout), None


def load_folder(
    cache: Path,
    model: str | os.PathLike[str] | None,
    device: str,
    context: Any = None,
    store_binaries: bool = True,
    custom_ops: Mapping[str, CustomOp] | None = None,
    watch: Loading | None = None,
) -> Session:
    """Load a model from a folder of this machine, as `load` does. `watch` is told of the steps."""
    told = watch or Loading()

    def attempt() -> Session:
        from .cache.binaries import restored_programs
        from .cache.folder import first_runnable, newest_first
        from .cache.variant import Weights, open_variant
        from .startup import in_background

        with told.step("read the plan"):
            found = newest_first(cache, model)
        targets = _targets(found)
        if context is None:
            start_drivers(targets[0], device)
        weights = Weights(found[0][0]) if len(found) == 1 else None
        in_background(_import_session, "imports")
        with told.step("open the device"):
            opened = open_device(device, targets, context)
        with ExitStack() as failed:
            failed.callback(opened.release)
            folder, plan = first_runnable(found, opened)
            with told.step("open the kernels and weights"):
                variant = open_variant(folder, plan, weights or Weights(folder))
            watched = told.opened(opened)
            with told.step(BUILD):
                programs = restored_programs(folder, watched, plan)
                from .session import Session

                failed.pop_all()
                return Session(variant, watched, store_binaries, custom_ops, programs)

    with starting_libraries(), told.step("load"):
        if context is None:
            # What is not known before it is downloaded, or is loaded by a command.
            start_drivers(_target_by_name(cache), device)
        from .cache.folder import read_settled

        return read_settled(cache, attempt)


def _import_session() -> None:
    """Import what needs numpy, which takes as long as opening a device and restoring kernels."""
    # Whoever imports it next gets the error.
    with starting_libraries(), suppress(ImportError):
        import_module(".session", __package__)


def _signed(folder: Path, model: str | os.PathLike[str] | None) -> str:
    """The URL of a store in a folder (PlanError for a cache)."""
    from .cache.folder import find_variants

    try:
        find_variants(folder, model)
    except PlanError:
        return f"file://{folder.absolute()}"
    raise PlanError(
        f"{folder} is a cache, in which nothing is signed; give trust=... for a store, which "
        f"`tflgpu-compile MODEL -o file://FOLDER --sign KEY` makes of a folder"
    )


def _first_runnable(found: Sequence[tuple[Path, Plan]], device: str, context: Any) -> Path:
    """The first of several variants that the device can run (PlanError, DeviceError)."""
    from .cache.folder import first_runnable

    opened = open_device(device, _targets(found), context)
    try:
        return first_runnable(found, opened)[0]
    finally:
        opened.release()


def _targets(found: Sequence[tuple[Path, Plan]]) -> list[str]:
    """The targets of some variants, each once."""
    return list(dict.fromkeys(plan.target for _, plan in found))


def _target_by_name(cache: str | os.PathLike[str]) -> str:
    """The target of the variants in a folder, with which their names begin; empty if they differ.

    It is known before the modules that read plans are imported.
    """
    folder = os.path.normpath(cache)
    names = [os.path.basename(folder)]
    with suppress(OSError, ValueError):
        for name in os.listdir(folder):
            below = os.path.join(folder, name)
            names += [name] if len(name) < FINGERPRINT_DIGITS else os.listdir(below)
    targets = {name.partition("-")[0] for name in names} & RUNNABLE.keys()
    return targets.pop() if len(targets) == 1 else ""
