"""The source of a kernel: its body, and what the body needs around it.

Equal kernels are equal values, whatever they are named. A kernel has two forms: an entry point of
its own, and functions that a persistent kernel calls.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from math import prod

from ...runtime.plan.records import Kernel
from ..language import Language
from ..ops.base import WorkGroup
from .environment import environment
from .indent import indent
from .intrinsics import definitions


@dataclass(frozen=True)
class Parameter:
    """An array that a kernel gets."""

    name: str
    element: str
    """The type of its elements."""
    writes: bool
    texel: int
    """Bytes of a texel if it is an image of a buffer, 0 if it is a buffer."""

    @property
    def opencl(self) -> str:
        """As OpenCL C declares it."""
        if self.texel:
            return f"__read_only image1d_buffer_t {self.name}"
        access = "" if self.writes else "const "
        return f"__global {access}{self.element}* restrict {self.name}"


@dataclass(frozen=True)
class SharedArray:
    """An array that the work-items of a group share."""

    kind: str
    name: str
    count: int
    bytes: int

    def __str__(self) -> str:
        return f"{self.kind} {self.name}[{self.count}]"


@dataclass(frozen=True)
class KernelSource:
    """A kernel without its name, and without what is said of its uses."""

    template: str
    language: Language
    lanes: int
    parameters: tuple[Parameter, ...]
    group: WorkGroup
    axes: tuple[tuple[int, str], ...]
    """The axes of the grid along which it needs a work-item's number, with its variable."""
    shared: tuple[SharedArray, ...]
    sub_group: int
    """Work-items of the sub-groups it relies on; 0 for none."""
    intrinsics: frozenset[str]
    body: str

    @property
    def alone(self) -> bool:
        """Whether a work-group is a single work-item."""
        return prod(self.group) == 1

    @property
    def divisible(self) -> bool:
        """Whether every work-item can be computed by itself."""
        return "wait_for_group" not in self.intrinsics and (self.alone or not self.shared)

    def record(self, name: str, file: str, text: str) -> Kernel:
        """The kernel as the plan lists it, with that text in a file."""
        return Kernel(
            name,
            file,
            hashlib.sha256(text.encode()).digest(),
            self.group,
            parameters=len(self.parameters),
            shared_memory=sum(array.bytes for array in self.shared),
            sub_group=self.sub_group,
        )

    def text(self, name: str, comment: str) -> str:
        """The file of the kernel, with a comment at its head."""
        return self._framed(
            str(self.language),
            name,
            comment=comment,
            definitions=definitions(self.intrinsics, self.language, self.lanes, name),
        )

    def functions(self, name: str) -> str:
        """OpenCL functions: `name`_item, and `name`_group where a group has several work-items."""
        return self._framed("opencl_functions", name)

    def _framed(self, frame: str, name: str, **context: object) -> str:
        template = environment().get_template(f"dialects/{frame}.jinja")
        return template.render(kernel=self, name=name, body=indent(self.body, 1), **context)
