"""`load` and `devices`, the functions that an application calls.

They import what they need when they are called, so importing this module is cheap.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import DeviceError, PlanError
from .launch.device import Device, DeviceInfo
from .launch.foreign import foreign_context

if TYPE_CHECKING:
    from .custom_op import CustomOp
    from .plan.records import Plan
    from .remote.keys import Trust
    from .session import Session


class Loading:
    """Is told of the steps of loading a model, and may stand in for the device; this does not."""

    def step(self, name: str) -> AbstractContextManager[None]:
        """A block for a step to take place in."""
        return nullcontext()

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
) -> Session:
    """Load a compiled model onto a device and return it as a `Session`, ready to run.

    `cache` is the folder that the model was compiled into, or the folder of one compiled variant in
    it. `model` is the .tflite file, its name or the first digits of its fingerprint (hex SHA-256
    digest), and may be omitted if the cache holds only one model.

    `device` is "auto" for the best device, or part of a device's text as `devices` returns it,
    ignoring case. Plans for opencl run on OpenCL devices, plans for glsl on OpenGL devices. If the
    cache holds several variants of the model, the newest one that can run on the device is loaded.

    `context` is the caller's, for `Session.bind` to use its memory: a pyopencl.Context, a
    pyopencl.CommandQueue, which is then used instead of a queue of its own and must be in-order, or
    a moderngl.Context, whose program in use and bindings of buffers then change. `device` names one
    of its devices.

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
    signed the variant; or "anyone".

    PlanError if there is no such plan, its files are damaged or writable by other users, it
    cannot run on the device, is not trusted, or a function is missing. StoreError if a store cannot
    be reached or a key cannot be read. DeviceError if there is no such device, a
    driver call fails, or LiteRT is needed but not installed; BuildError, a DeviceError, if the
    driver rejects a kernel.
    """
    from .remote.url import is_url

    if not isinstance(device, str):
        raise DeviceError(f'device={device!r}: give a name, or "auto"')

    if is_url(cache):
        from .remote.fetch import fetch

        place = fetch(cache, model, trust, lambda found: _first_runnable(found, device, context))
        model = None
    elif trust:
        raise PlanError(
            f"{os.fspath(cache)} is a folder of yours, which is trusted as it is; trust={trust!r} "
            f"is for stores, given by a URL"
        )
    else:
        place = Path(cache)
    return load_folder(place, model, device, context, store_binaries, custom_ops)


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
    from .store.cache import read_settled

    told = watch or Loading()
    with told.step("load"):
        return read_settled(
            cache, lambda: _load(cache, model, device, context, store_binaries, custom_ops, told)
        )


def _first_runnable(found: Sequence[tuple[Path, Plan]], device: str, context: Any) -> Path:
    """The first of several variants that the device can run (PlanError, DeviceError)."""
    from .store.cache import first_runnable

    opened = open_device(device, _targets(found), context)
    try:
        return first_runnable(found, opened)[0]
    finally:
        opened.release()


def _targets(found: Sequence[tuple[Path, Plan]]) -> list[str]:
    """The targets of some variants, each once."""
    return list(dict.fromkeys(plan.target for _, plan in found))


def _load(
    cache: Path,
    model: str | os.PathLike[str] | None,
    device: str,
    context: Any,
    store_binaries: bool,
    custom_ops: Mapping[str, CustomOp] | None,
    watch: Loading,
) -> Session:
    from .store.cache import find_variants, first_runnable, newest_first
    from .store.variant import Weights, open_variant, read_plan

    with watch.step("read the plan"):
        folders = newest_first(find_variants(cache, model))
        found = [(folder, read_plan(folder)) for folder in folders]
    targets = _targets(found)
    # On other threads, drivers start and weights are checked while this one imports numpy.
    _start_drivers(targets[0])
    weights = Weights(folders[0]) if len(folders) == 1 else None
    from .session import Session

    with watch.step("open the device"):
        opened = open_device(device, targets, context)
    try:
        folder, plan = first_runnable(found, opened)
        with watch.step("open the kernels and weights"):
            variant = open_variant(folder, plan, weights or Weights(folder))
        watched = watch.opened(opened)
    except BaseException:
        opened.release()
        raise
    return Session(variant, watched, store_binaries, custom_ops)


def _start_drivers(target: str) -> None:
    if target == "opencl":
        from .opencl.find import DRIVERS

        DRIVERS.start()
    elif target == "glsl":
        from .opengl.egl import DRIVERS

        DRIVERS.start()


def open_device(device: str, targets: Sequence[str], context: Any = None) -> Device:
    """A device with this name for the first target that has one (DeviceError).

    `targets` must not be empty. `context` is the caller's, as `load` takes it.
    """
    compiled_for = f"the model was compiled for {' and '.join(targets)}"
    opened: Device
    if context is not None:
        given = foreign_context(context)
        if given.target not in targets:
            needed = f"a {given.kind} needs a model compiled for {given.target}"
            raise DeviceError(f"{needed}, but {compiled_for}")
        opened = _driver(given.target).open_in(given, device)
        return opened
    errors = []
    for target in targets:
        try:
            opened = _driver(target).open_device(device)
            return opened
        except DeviceError as error:
            errors.append(error)
    raise DeviceError("\n".join([*map(str, errors), compiled_for])) from errors[0]


def _driver(target: str) -> Any:
    """The module that finds and opens the devices of a target (DeviceError)."""
    if target == "opencl":
        from .opencl import find as opencl

        return opencl
    if target == "glsl":
        from .opengl import find as opengl

        return opengl
    raise DeviceError(f"this runtime runs kernels for opencl and glsl, not for {target}")


def devices() -> list[DeviceInfo]:
    """The attached devices: those of OpenCL, best first, then those of OpenGL, best first.

    Without moderngl or libEGL, no OpenGL devices are found. DeviceError if OpenCL is not installed.
    """
    found = list(_driver("opencl").devices())
    with suppress(DeviceError):
        found += _driver("glsl").devices()
    return found
