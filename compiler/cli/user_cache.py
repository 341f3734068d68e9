"""Models compiled into the user's own cache when they are run."""

from __future__ import annotations

from pathlib import Path

from ...runtime.store.variant import PLAN
from .. import pipeline
from ..options import Options
from ..user_cache import for_attached_device, user_cache
from .shell import progress, warn


def compiled(model: Path, device: str) -> Path:
    """The folder of a model compiled for an attached device, now unless it was before.

    Raises what `pipeline.build` raises.
    """
    options, cache = for_attached_device(Options(device=device)), user_cache()
    folder = pipeline.compiled_folder(str(model), options, cache)
    if not (folder / PLAN).is_file():
        with progress() as show:
            folder = pipeline.store(pipeline.build(str(model), options, show), cache)
        warn(f"note: compiled into {cache}, so that the next run starts at once")
    return folder
