"""The variant of a cache that a command shows or exports."""

from __future__ import annotations

from pathlib import Path

from ...runtime.errors import PlanError
from ...runtime.store.cache import find_variants
from ...runtime.store.variant import PLAN, Variant, read_variant
from .shell import warn


def newest_variant(cache: Path, model: str | None, target: str | None = None) -> Variant:
    """The variant compiled last, of a model if there are several; others are listed on stderr.

    With a target, only its variants count. PlanError if there is none or it is damaged.
    """
    folders = find_variants(cache, model)
    if target is not None:
        folders = [folder for folder in folders if read_variant(folder).plan.target == target]
        if not folders:
            raise PlanError(f"{cache} has no variant for {target}; compile with --target {target}")
    newest = max(folders, key=lambda folder: ((folder / PLAN).lstat().st_mtime_ns, folder.name))
    others = [folder for folder in folders if folder != newest]
    if others:
        listed = "".join(f"\n  {folder}" for folder in others)
        warn(f"note: this is the variant compiled last; the others are{listed}")
    return read_variant(newest)
