"""The cache folder: where compiled models lie, and reading one back with every byte checked.

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
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import PlanError
from .plan import Plan
from .privacy import check_private, map_file, read_file
from .starting import in_background

if TYPE_CHECKING:
    from filelock import BaseFileLock

    from .device import Device

PLAN = "plan.tflgpu"
WEIGHTS = "weights.bin"
KERNELS = "kernels"
FALLBACK = "fallback"
LARGEST_TEXT = 1 << 28
"""Bytes a plan or a kernel may have."""
LARGEST_PART = (1 << 31) - 1
"""Bytes a model that runs on LiteRT may have."""

_FINGERPRINT = re.compile(r"[0-9a-f]{64}\Z")


@dataclass(frozen=True)
class Variant:
    """One compiled model as read from its folder; its plan has been checked."""

    folder: Path
    plan: Plan
    weights: Weights
    """The content of weights.bin, still being checked."""
    parts: Mapping[str, bytes]
    """Content of each model that runs on LiteRT, by `HostPart.file`."""

    def check(self) -> None:
        """PlanError if weights or kernels are damaged."""
        self.weights.check(self.plan)
        read_sources(self.folder, self.plan)

    @cached_property
    def sources(self) -> Mapping[str, str]:
        """Text of each kernel file, by `Kernel.file`; read when asked for (PlanError).

        Kernels that were compiled before need none.
        """
        return read_sources(self.folder, self.plan)


def read_sources(folder: Path, plan: Plan) -> dict[str, str]:
    """Text of each kernel file of a variant, by `Kernel.file` (PlanError)."""
    if plan.kernels:
        check_private(folder / KERNELS)
    sources = {}
    for kernel in plan.kernels:
        content = _checked(folder / kernel.file, kernel.sha256, LARGEST_TEXT)
        try:
            sources[kernel.file] = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise PlanError(f"{folder / kernel.file} is not UTF-8 text") from error
    return sources


class Weights:
    """The content of weights.bin, mapped into memory.

    Another thread computes its digest while this one works; hashlib lets it.
    """

    def __init__(self, folder: Path) -> None:
        """Of a variant's folder (PlanError)."""
        check_private(folder)
        self._path = folder / WEIGHTS
        self._digest = b""
        self.content = map_file(self._path)
        """Read-only."""
        self._wait = in_background(self._compute, "weights")

    def _compute(self) -> None:
        self._digest = hashlib.sha256(self.content).digest()

    def check_size(self, plan: Plan) -> None:
        """PlanError unless there are as many bytes as the plan says."""
        present = self.content.nbytes
        if present != plan.weights_size:
            raise PlanError(
                f"{self._path} has {present} bytes instead of {plan.weights_size}; compile the "
                f"model again"
            )

    def check(self, plan: Plan) -> None:
        """Return when the digest has been computed; PlanError if the plan has another one."""
        self._wait()
        if self._digest != plan.weights_sha256:
            raise _damaged(self._path)


# -- names ------------------------------------------------------------------------------------


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


# -- finding ----------------------------------------------------------------------------------


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


# -- reading ----------------------------------------------------------------------------------


def read_plan(folder: Path) -> Plan:
    """The plan of a variant, itself checked but without its kernels and weights (PlanError)."""
    # Imported here because numpy comes with it, which an import of the cache alone does not need.
    from .deserialize import from_bytes

    check_private(folder)
    return from_bytes(read_file(folder / PLAN, LARGEST_TEXT), str(folder / PLAN))


def read_variant(folder: Path) -> Variant:
    """A variant, its kernels and weights, every file checked against the plan (PlanError)."""
    variant = open_variant(folder, read_plan(folder), Weights(folder))
    variant.check()
    return variant


def open_variant(folder: Path, plan: Plan, weights: Weights) -> Variant:
    """A variant of which the plan was read and the weights opened (PlanError).

    They are good once `Weights.check` has returned; meanwhile there is other work to do.
    """
    weights.check_size(plan)
    if plan.parts:
        check_private(folder / FALLBACK)
    parts = {
        part.file: _checked(folder / part.file, part.sha256, LARGEST_PART) for part in plan.parts
    }
    return Variant(folder, plan, weights, parts)


def _checked(path: Path, sha256: bytes, limit: int) -> bytes:
    """The content of a file with that digest (PlanError)."""
    content = read_file(path, limit)
    if hashlib.sha256(content).digest() != sha256:
        raise _damaged(path)
    return content


def _damaged(path: Path) -> PlanError:
    return PlanError(f"{path} is damaged (its checksum is wrong); compile the model again")
