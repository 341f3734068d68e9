"""A variant: one compiled model in a folder of its own, read back with every byte checked."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..background import in_background
from ..errors import PlanError
from ..plan.records import Plan
from .private_files import check_private, map_file, read_file

PLAN = "plan.tflgpu"
WEIGHTS = "weights.bin"
KERNELS = "kernels"
FALLBACK = "fallback"
LARGEST_TEXT = 1 << 28
"""Bytes a plan or a kernel may have."""
LARGEST_PART = (1 << 31) - 1
"""Bytes a model that runs on LiteRT may have."""


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


def read_plan(folder: Path) -> Plan:
    """The plan of a variant, itself checked but without its kernels and weights (PlanError)."""
    # Imported here because numpy comes with it, which an import of the cache alone does not need.
    from ..plan.file import from_bytes

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
