"""A variant: one compiled model in its own folder. Reading it checks every byte."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from ..errors import PlanError
from ..frozen import dataclass
from ..plan.file import from_bytes
from ..plan.kernels import Kernel
from ..plan.records import Plan, Specialization
from ..startup import in_background
from .private_files import check_private, last_change, map_file, read_file

PLAN = "plan.tflgpu"
WEIGHTS = "weights.bin"
KERNELS = "kernels"
FALLBACK = "fallback"
# The folder with the plan as it was compiled, and with the kernels that edits have changed.
ORIGINALS = "originals"
LARGEST_TEXT = 1 << 28  # Bytes of a plan or a kernel.
LARGEST_PART = (1 << 31) - 1  # Bytes of the model of a part on LiteRT.


@dataclass(frozen=True)
class Variant:
    """One compiled model, read from its folder. Its plan is valid."""

    folder: Path  # With the plan, its kernels and its parts.
    plan: Plan
    weights: Weights  # The content of weights.bin, which may not have been checked yet.
    parts: Mapping[str, bytes]  # The models of the parts on LiteRT, by `HostPart.file`.
    # The folder that is written and locked as a whole; `folder` unless that is of a choice.
    whole: Path
    # Sources to compile instead of those in the folder, by `Kernel.file`.
    texts: Mapping[str, str] | None = None

    def check(self) -> None:
        """PlanError if weights or kernels are damaged, or those for other choices."""
        self.weights.check(self.plan)
        read_sources(self.folder, self.plan)
        as_compiled(self)
        for record in self.plan.specializations:
            self.specialized(record).check()

    def specialized(self, record: Specialization) -> Variant:
        """The model for another signature or other shapes, on the same weights (PlanError)."""
        folder = self.folder / record.folder
        check_private(folder.parent)
        check_private(folder)
        file = folder / PLAN
        plan = from_bytes(_read_checked(file, record.sha256, LARGEST_TEXT), str(file))
        stated = (record.signature, record.inputs, record.outputs, ())
        if (plan.signature, plan.inputs, plan.outputs, plan.specializations) != stated:
            raise PlanError(f"{file} is not the plan that {self.folder / PLAN} describes")
        return open_variant(folder, plan, self.weights, self.whole)

    @property
    def edited(self) -> tuple[str, ...]:
        return edited_kernels(self.plan)

    @cached_property
    def sources(self) -> Mapping[str, str]:
        """The text of each kernel file, by `Kernel.file`, read on first use (PlanError)."""
        return read_sources(self.folder, self.plan) if self.texts is None else self.texts


def read_sources(folder: Path, plan: Plan) -> dict[str, str]:
    """The text of each kernel file of a variant, by `Kernel.file` (PlanError)."""
    return _texts(folder, plan.kernels)


def as_compiled(variant: Variant) -> tuple[Plan, Mapping[str, str]]:
    """The plan and the sources, by file, before kernels were changed by hand (PlanError)."""
    if not variant.plan.edits:
        return variant.plan, variant.sources
    plan = read_plan(variant.folder / ORIGINALS)
    changed = _changed(plan, variant.plan)
    return plan, {**variant.sources, **_texts(variant.folder / ORIGINALS, changed)}


def originals(variant: Variant) -> set[str]:
    """The paths in the folder of what edits of kernels have replaced; none without edits."""
    if not variant.plan.edits:
        return set()
    plan = read_plan(variant.folder / ORIGINALS)
    files = [kernel.file for kernel in _changed(plan, variant.plan)]
    return {f"{ORIGINALS}/{file}" for file in (PLAN, *files)}


def _changed(before: Plan, now: Plan) -> list[Kernel]:
    """The kernels of a plan, as they were compiled, that others have replaced."""
    pairs = zip(before.kernels, now.kernels, strict=True)
    return [kernel for kernel, other in pairs if kernel.sha256 != other.sha256]


def edited_kernels(plan: Plan) -> tuple[str, ...]:
    """The names of the kernels of a plan that were changed by hand."""
    return tuple(plan.kernels[index].name for index in plan.edits)


def check_unchanged_since(folder: Path, plan: Plan, time: int) -> None:
    """PlanError if a kernel file is not the plan's; those older than a time (ns) are not read.

    A kernel that somebody changes is noticed, though the driver's binary of it would be used.
    """
    with suppress(FileNotFoundError), os.scandir(folder / KERNELS) as entries:
        if any(last_change(entry) >= time for entry in entries):
            read_sources(folder, plan)


def _texts(folder: Path, kernels: Sequence[Kernel]) -> dict[str, str]:
    if kernels:
        check_private(folder / KERNELS)
    sources = {}
    for kernel in kernels:
        path = folder / kernel.file
        content = read_file(path, LARGEST_TEXT)
        if hashlib.sha256(content).digest() != kernel.sha256:
            raise PlanError(
                f"{path} is damaged or was changed by hand: compile the model again; to try or "
                f"keep a kernel changed by hand, use: tflgpu edit {folder} {kernel.name} FILE"
            )
        try:
            sources[kernel.file] = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise PlanError(f"{path} is not UTF-8 text") from error
        check_text(str(path), sources[kernel.file])
    return sources


def check_text(name: str, text: str) -> None:
    """PlanError, naming the file, if a kernel includes other files of this machine.

    Lines that are comments do not count: there stand names of the model, which may be any text.
    Compilers differ in which lines they join first, so none of the ways may find a directive.
    """
    for joined in _JOINED:
        if _INCLUDES.search(_COMMENTED.sub("", joined.sub("", text))):
            raise PlanError(f"{name} includes another file, which no kernel needs")


# Ends of lines that a preprocessor joins with the next: none, and without and with trigraphs.
_JOINED = tuple(
    re.compile(rf"({end})[ \t\f\v]*(\r\n|\r|\n)") for end in (r"(?!)", r"\\", r"\\|\?\?/")
)

# A comment, whatever stands above it; with */ it may be the end of another one.
_COMMENTED = re.compile(r"^[ \t]*//(?![^\r\n]*\*/)[^\r\n]*", re.MULTILINE)

_SPACE = r"(?:\s|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)*"
# A directive that copies another file of this machine into a source.
_INCLUDES = re.compile(rf"(#|%:|\?\?=){_SPACE}(include|import|embed)")


class Weights:
    """The content of weights.bin, mapped into memory; its digest is computed on another thread."""

    def __init__(self, folder: Path) -> None:
        """Open the weights in a variant's folder (PlanError)."""
        check_private(folder)
        self._path = folder / WEIGHTS
        self._digest = b""
        self.content, self._changed = map_file(self._path)  # Read-only.
        self._wait: Callable[[], None] | None = None

    def begin_check(self) -> None:
        """Begin to compute the digest, unless that has been begun."""
        if self._wait is None:
            self._wait = in_background(self._compute, "weights")

    def _compute(self) -> None:
        self._digest = hashlib.sha256(self.content).digest()

    def unchanged_since(self, time: int) -> bool:
        """Whether nobody has touched the file since then, in nanoseconds."""
        return self._changed < time

    def check_size(self, plan: Plan) -> None:
        """PlanError unless the weights have the size that the plan states."""
        present = self.content.nbytes
        if present != plan.weights_size:
            raise PlanError(
                f"{self._path} has {present} bytes instead of {plan.weights_size}; compile the "
                f"model again"
            )

    def check(self, plan: Plan) -> None:
        """Wait for the digest; PlanError unless it is the plan's."""
        self.begin_check()
        assert self._wait
        self._wait()
        if self._digest != plan.weights_sha256:
            raise _damaged(self._path)


def read_plan(folder: Path) -> Plan:
    """The plan of a variant; kernels and weights are not checked (PlanError)."""
    check_private(folder)
    return from_bytes(read_file(folder / PLAN, LARGEST_TEXT), str(folder / PLAN))


def read_variant(folder: Path) -> Variant:
    """A variant, with every file checked against its plan (PlanError)."""
    variant = open_variant(folder, read_plan(folder), Weights(folder))
    variant.check()
    return variant


def open_variant(folder: Path, plan: Plan, weights: Weights, whole: Path | None = None) -> Variant:
    """A variant whose plan has been read and whose weights have been opened (PlanError).

    `whole` is `Variant.whole` unless that is the folder itself. The weights may be used before
    `Weights.check` returns, but nothing may run on them.
    """
    weights.check_size(plan)
    if plan.parts:
        check_private(folder / FALLBACK)
    parts = {
        part.file: _read_checked(folder / part.file, part.sha256, LARGEST_PART)
        for part in plan.parts
    }
    return Variant(folder, plan, weights, parts, whole or folder)


def _read_checked(path: Path, sha256: bytes, limit: int) -> bytes:
    """The content of a file with this digest (PlanError)."""
    content = read_file(path, limit)
    if hashlib.sha256(content).digest() != sha256:
        raise _damaged(path)
    return content


def _damaged(path: Path) -> PlanError:
    return PlanError(f"{path} is damaged (its checksum is wrong); compile the model again")
