"""The source of a kernel: its body, and everything the body needs around it.

Sources compare equal regardless of the kernel's name. A source can be written in two forms: as an
entry point, or as functions that a persistent kernel calls.

The plan states where the bodies of kernels lie in their files, so that a kernel changed by hand is
also changed in the persistent kernels that compute it. A frame is rendered with a hole for each
body, which is filled last.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from ...runtime.plan.kernels import Body, Kernel
from ...runtime.plan.limits import LARGEST_COUNT
from ..language.language import OPENCL, WGSL, Language
from ..language.statement import Printed
from ..ops.base.launch import WorkGroup
from .functions.definitions import defined, definitions
from .rendering.environment import environment
from .wgsl.types import wgsl

HOLE = "\0"  # Stands for a body in a frame. No kernel contains this character.


def fill(frame: str, bodies: Iterable[tuple[int, str]]) -> tuple[str, tuple[Body, ...]]:
    """The text of a frame, and where its bodies lie in it; each is given with its kernel's index.

    >>> fill(f"a {{{HOLE}}} b {{{HOLE}}}", [(0, "one"), (7, "two")])
    ('a {one} b {two}', (Body(kernel=0, start=3, size=3), Body(kernel=7, start=11, size=3)))
    """
    text, *rest = frame.split(HOLE)
    placed = []
    for (kernel, body), after in zip(bodies, rest, strict=True):
        placed.append(Body(kernel, len(text.encode()), len(body.encode())))
        text += body + after
    return text, tuple(placed)


@dataclass(frozen=True)
class Parameter:
    name: str
    element: str  # Type of its elements.
    writes: bool
    texel: int  # Bytes of a texel of an image buffer; 0 for a buffer.
    # Whether it is bound as one that is written, as it is or as its buffer may be elsewhere.
    writable: bool
    # Number of its elements, for languages that check indices; 0 if that is not known.
    count: int = 0

    @property
    def opencl(self) -> str:
        if self.texel:
            return f"__read_only image1d_buffer_t {self.name}"
        access = "" if self.writes else "const "
        return f"__global {access}{self.element}* restrict {self.name}"


@dataclass(frozen=True)
class SharedArray:
    """An array in local memory, which the work-items of a group share."""

    kind: str  # Type of its elements.
    name: str
    count: int
    bytes: int

    def __str__(self) -> str:
        return f"{self.kind} {self.name}[{self.count}]"


@dataclass(frozen=True)
class KernelSource:
    """A kernel without its name and header comment."""

    template: str
    name: str  # Name of the kernel without its number.
    language: Language
    lanes: int
    parameters: tuple[Parameter, ...]
    group: WorkGroup
    # (axis, variable) for each grid axis along which it needs the work-item's index.
    axes: tuple[tuple[int, str], ...]
    shared: tuple[SharedArray, ...]
    half: bool
    intrinsics: frozenset[str]
    printed: Printed
    hinted: bool  # Whether its loops have hints for compilers.
    on_processor: bool  # Whether it is for a processor, whose vectors it has by itself.

    @property
    def opencl_parameters(self) -> str:
        """The list of parameters in OpenCL C, one on each line."""
        return ",\n".join(f"    {each.opencl}" for each in self.parameters)

    @property
    def alone(self) -> bool:
        """Whether a work-group has a single work-item."""
        return prod(self.group) == 1

    @property
    def divisible(self) -> bool:
        """Whether work-items are independent, so that a persistent kernel can compute them."""
        return "wait_for_group" not in self.intrinsics and (self.alone or not self.shared)

    @property
    def pragmas(self) -> list[str]:
        """What OpenCL C's compiler is told at the start of the body."""
        return [entry.pragma for entry in defined(self.intrinsics, OPENCL) if entry.pragma]

    @property
    def assembled(self) -> bool:
        """Whether its body has assembler's text, in OpenCL C."""
        entries = defined(self.intrinsics, OPENCL)
        return any(self.lanes in entry.assembler_lanes for entry in entries)

    @property
    def device_extensions(self) -> tuple[str, ...]:
        """What a device must have for its arithmetic, under the names that drivers give it."""
        entries = defined(self.intrinsics, self.language)
        named = {entry.device_extensions.get(self.language.name, "") for entry in entries}
        half = self.language.half_extensions if self.half else ()
        return (*half, *sorted(named - {""}))

    def record(
        self, name: str, file: str, text: str, bodies: tuple[Body, ...], iterations: int
    ) -> Kernel:
        """The kernel as the plan lists it, with the given file, its text and the body in it."""
        return Kernel(
            name,
            file,
            hashlib.sha256(text.encode()).digest(),
            self.group,
            parameters=len(self.parameters),
            shared_memory=sum(array.bytes for array in self.shared),
            extensions=self.device_extensions,
            bodies=bodies,
            iterations=min(iterations, LARGEST_COUNT),
        )

    @property
    def text(self) -> str:
        """The body as it stands in a file; in WGSL, everything but the comment."""
        return self._framed("wgsl", wgsl=wgsl) if self.language == WGSL else self.printed.body

    def frame(self, name: str, comment: str) -> str:
        """The kernel's file with a hole for the body, starting with a comment."""
        if self.language == WGSL:
            return f"{comment}\n{HOLE}"
        entries = defined(self.intrinsics, self.language)
        return self._framed(
            str(self.language),
            name=name,
            comment=comment,
            definitions=definitions(self.intrinsics, self.language, self.lanes, name),
            macros=[entry.name for entry in entries],
            extensions=sorted({entry.extension for entry in entries if entry.extension}),
        )

    def functions(self, name: str) -> str:
        """OpenCL functions `name`_item, with a hole for the body, and, if a group has several
        work-items, `name`_group."""
        return self._framed("opencl_functions", name=name)

    def _framed(self, frame: str, **context: object) -> str:
        template = environment().get_template(f"dialects/{frame}.jinja")
        return template.render(kernel=self, body=HOLE, **context)
