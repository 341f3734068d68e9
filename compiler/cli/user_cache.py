"""Models compiled into the user's own cache when they are run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from ..arguments import signatures
from ..emit.variant_name import compiled_folder
from ..options import Options
from ..tools.trace.events import Trace
from ..user_cache import for_attached_device, load_or_compile, user_cache
from .shell import note
from .stages import progress

Loaded = TypeVar("Loaded")


def load_compiled(
    model: Path,
    device: str,
    shapes: Mapping[str, tuple[int, ...]],
    load: Callable[[Path], Loaded],
    trace: Trace | None = None,
    signature: str | None = None,
) -> Loaded:
    """What `load` makes of the folder of a model, compiled for an attached device.

    The model is compiled unless it was before and can be loaded. `shapes` are input shapes that
    replace the model's, by name, and `signature` is the signature to compile. `trace` records the
    stages. Raises what `pipeline.build` and
    `load` raise.
    """
    options = for_attached_device(
        Options(
            device=device,
            signature=signatures(signature or ()),
            input_shapes=tuple(shapes.items()),
        )
    )
    cache = user_cache()

    def compile() -> Path:
        from .. import pipeline

        with progress() as show:
            show = trace.stages(show) if trace else show
            built = pipeline.build(str(model), options, show)
            show("write", 0, 1)
            folder = pipeline.write(built, cache)
            if trace:
                trace.end_stage()
        note(f"compiled into {cache}, so that the next run starts at once")
        return folder

    folder = compiled_folder(str(model), options, cache)
    return load_or_compile(folder, load, compile)
