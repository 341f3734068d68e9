"""The cache folder: where compiled models lie, and finding them again.

    <cache>/<model fingerprint>/<variant>/plan.tflgpu
                                          kernels/NNN_name.cl
                                          fallback/N.tflite, where parts run on LiteRT
                                          weights.bin
                                          binaries/<device key>.bin (binaries.py)

A plan holds code that will run, so the folders must be private: owned by this user (or by root)
and writable by nobody else. Nothing below the cache is reached through a symbolic link.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import PlanError
from ..plan.records import Plan
from .private_files import check_private
from .variant import PLAN, read_plan

if TYPE_CHECKING:
    from filelock import BaseFileLock

    from ..launch.device import Device

_FINGERPRINT = re.compile(r"[0-9a-f]{64}\Z")


def fingerprint(model: Path | bytes) -> str:
    """Hex SHA-256 digest of a model, given as its file or its content."""
    if isinstance(model, bytes):
        return hashlib.sha256(model).hexdigest()
    digest = hashlib.sha256()
    with model.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def is_fingerprint(text: str) -> bool:
    """Whether a text has the form of a model's fingerprint."""
    return _FINGERPRINT.match(text) is not None


def variant_folder(cache: Path, model_fingerprint: str, variant: str) -> Path:
    """Where a variant of a model lies in a cache, whether it is there or not."""
    return cache / model_fingerprint / variant


def lock(folder: Path) -> BaseFileLock:
    """The lock to hold while a variant's folder is written; its own folder's parent must exist."""
    from filelock import FileLock

    return FileLock(folder.parent / f".{folder.name}.lock", mode=0o600)


def find_variants(cache: Path, model: str | os.PathLike[str] | None = None) -> list[Path]:
    """The folders of all compiled variants of a model, by name.

    `model` is the model's file or its fingerprint; it may be left out where the cache holds only
    one model. `cache` may also be the folder of one variant. PlanError if there is none, or if the
    cache holds several models and none was chosen.
    """
    cache = Path(os.path.realpath(cache))
    if not cache.is_dir():
        raise PlanError(
            f"there is no cache at {cache}; make one with: tflgpu-compile MODEL -o {cache}"
        )
    check_private(cache)
    chosen = None if model is None else _model_fingerprint(model)
    if os.path.lexists(cache / PLAN):
        return [_single(cache, model, chosen)]
    present = _models(cache)
    if chosen is not None:
        if chosen not in present:
            raise PlanError(
                f"{cache} holds no plan of {model}; compile it with: "
                f"tflgpu-compile {_model_argument(model)} -o {cache}"
            )
        return present[chosen]
    if not present:
        raise PlanError(
            f"{cache} holds no compiled model; compile one with: tflgpu-compile MODEL -o {cache}"
        )
    if len(present) > 1:
        raise PlanError(f"{cache} holds several models; say which one:{_listing(present)}")
    return next(iter(present.values()))


def newest_first(folders: Sequence[Path]) -> list[Path]:
    """Variants' folders, the one compiled last first."""
    return sorted(folders, key=_age)


def newest_runnable(found: Sequence[tuple[Path, Plan]], device: Device) -> tuple[Path, Plan]:
    """The first of several variants that the device can run.

    PlanError with the reason for each if it can run none.
    """
    if len(found) == 1:
        return found[0]
    objections = []
    for folder, plan in found:
        objection = device.objection(plan)
        if objection is None:
            return folder, plan
        objections.append(f"\n  {folder.name}: {objection}")
    raise PlanError(
        f"no variant in {found[0][0].parent} can run on {device.info}; compile the model for it:"
        + "".join(objections)
    )


def _age(folder: Path) -> tuple[int, str]:
    """Smaller is newer."""
    try:
        return (-(folder / PLAN).lstat().st_mtime_ns, folder.name)
    except OSError:
        # Removed a moment ago; whoever reads it says so.
        return (0, folder.name)


def _model_fingerprint(model: str | os.PathLike[str]) -> str:
    if isinstance(model, str) and is_fingerprint(model):
        return model
    try:
        return fingerprint(Path(model))
    except OSError as error:
        raise PlanError(
            f"cannot read the model {os.fspath(model)}: {error.strerror}; give the model's file "
            f"or its fingerprint of 64 hexadecimal digits"
        ) from error


def _model_argument(model: str | os.PathLike[str] | None) -> str:
    return "MODEL" if isinstance(model, str) and is_fingerprint(model) else str(model)


def _single(folder: Path, model: str | os.PathLike[str] | None, chosen: str | None) -> Path:
    """The variant folder itself, if it is the chosen model's."""
    if chosen is not None and read_plan(folder).fingerprint != chosen:
        raise PlanError(
            f"{folder} was not compiled from {model}; compile that one with: "
            f"tflgpu-compile {_model_argument(model)} -o CACHE"
        )
    return folder


def _models(cache: Path) -> dict[str, list[Path]]:
    """The variants of each model in a cache, both in the order of their names."""
    result = {}
    try:
        for model in sorted(cache.iterdir()):
            if is_fingerprint(model.name):
                check_private(model)
                result[model.name] = [
                    variant
                    for variant in sorted(model.iterdir())
                    if not variant.name.startswith(".") and os.path.lexists(variant / PLAN)
                ]
    except OSError as error:
        raise PlanError(f"cannot read {error.filename}: {error.strerror}") from error
    return {name: variants for name, variants in result.items() if variants}


def _listing(models: Mapping[str, list[Path]]) -> str:
    lines = []
    for model, variants in models.items():
        try:
            name = read_plan(variants[0]).model
        except PlanError:
            name = "damaged"
        lines.append(f"\n  {model}  {name}")
    return "".join(lines)
