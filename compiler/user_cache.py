"""The user's own cache, for models that are run without being compiled before."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

from platformdirs import user_cache_path

from ..runtime import Session, load
from ..runtime.api import Progress
from ..runtime.cache.private_files import make_private
from ..runtime.custom_op import CustomOp
from ..runtime.errors import DeviceError, PlanError
from ..runtime.launch.callers_memory import callers_context
from .devices.attached import select_device
from .emit.variant_name import compiled_folder
from .errors import FallbackWarning, OptionError
from .options import Options, TargetName
from .telling import tell

T = TypeVar("T")


def user_cache() -> Path:
    """The folder of the user's own cache, which may not exist yet."""
    return user_cache_path("tflgpu") / "models"


def load_model(
    model: str,
    name: str | os.PathLike[str] | None = None,
    *,
    device: str = "auto",
    context: Any = None,
    custom_ops: Mapping[str, CustomOp] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Session:
    """What `tflgpu.load` does with a model file, compiled into the user's own cache if need be.

    Raises what `tflgpu.compile` and `tflgpu.load` raise; OptionError if `name` chooses a model.
    """
    if name is not None:
        raise OptionError(f"{model} is a model itself; {os.fspath(name)} chooses from a cache")
    chosen = Options(device=device, custom_ops=tuple(sorted(custom_ops or ())))
    if context is not None:
        chosen = replace(chosen, target=cast(TargetName, callers_context(context).target))
    else:
        chosen = for_attached_device(chosen)

    begun = ""

    def stage(name: str, done: int, total: int) -> None:
        nonlocal begun
        if progress and name != begun:
            progress(name)
        begun = name

    def loaded(folder: Path) -> Session:
        return load(
            folder,
            device=device,
            context=context,
            custom_ops=custom_ops,
            progress=progress,
            **options,
        )

    def compiled() -> Path:
        # What is compiled already is loaded without the compiler, which takes longer to import.
        from .emit.compiled_model import fallback_texts
        from .pipeline import build, write

        found = build(model, chosen, stage)
        for text in fallback_texts(found.report):
            tell(FallbackWarning(text))
        return write(found, user_cache())

    return load_or_compile(compiled_folder(model, chosen, user_cache()), loaded, compiled)


def load_or_compile(folder: Path, load: Callable[[Path], T], compile: Callable[[], Path]) -> T:
    """What `load` makes of a model's folder, compiled if it is not yet there or is damaged.

    `compile` returns the folder that it wrote. PlanError if there can be no such folder; also
    raises what both functions raise.
    """
    with suppress(PlanError):  # not compiled yet, or damaged
        return load(folder)
    cache = folder.parent.parent
    try:
        make_private(cache, linked=True)  # before the work of compiling is done in vain
    except PlanError as error:
        if cache != user_cache():
            raise
        raise PlanError(
            f"{error}; it is your own cache, which on Linux the environment variable "
            f"XDG_CACHE_HOME moves elsewhere; or compile into another folder with: "
            f"tflgpu-compile MODEL -o CACHE"
        ) from error
    return load(compile())


def for_attached_device(options: Options) -> Options:
    """The options for the named device's first target: OpenCL, OpenGL, WebGPU (DeviceError)."""
    errors = []
    targets: tuple[TargetName, ...] = ("opencl", "glsl", "wgsl")
    for target in targets:
        try:
            select_device(options.device, target)
            return replace(options, target=target)
        except DeviceError as error:
            errors.append(error)
    raise errors[0]
