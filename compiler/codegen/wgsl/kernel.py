"""A kernel in WGSL: its body and the functions that it calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...errors import RenderError
from ...language import WGSL
from ...language.statement import Printed, Statements
from ..intrinsics import defined_text, intrinsics
from .builtins import Unprintable
from .definitions import Function, Macro
from .parse import ParseError, parse_definitions
from .printer import Printer


def print_kernel(template: str, body: Statements, arrays: Mapping[str, str]) -> Printed:
    """The text of a kernel in WGSL; `arrays` has the types of buffers and local memory.

    RenderError that names the template, for definitions that are not in GLSL and for functions that
    WGSL does not have.
    """
    try:
        printer = Printer(arrays, _Definitions(), frozenset())
        lines = printer.statements(body)
        atomic = frozenset(printer.changed)
        if atomic:
            printer = Printer(arrays, _Definitions(), atomic)
            lines = printer.statements(body)
    except (ParseError, Unprintable) as error:
        raise RenderError(f"{template}, for WGSL: {error}") from error
    # Bindings that a kernel does not name are left out of its layout.
    unread = [f"_ = &{name};" for name in arrays if name not in printer.read]
    return Printed(
        "\n".join(f"  {line}" for line in (*unread, *lines)),
        tuple("\n".join(function) for function in printer.functions.values()),
        atomic,
    )


class _Definitions(Mapping[str, tuple[Function | Macro, ...]]):
    """What each intrinsic stands for in WGSL."""

    def __getitem__(self, name: str) -> tuple[Function | Macro, ...]:
        return parse_definitions(defined_text(intrinsics()[name], WGSL))

    def __contains__(self, name: object) -> bool:
        return name in intrinsics() and WGSL.name in intrinsics()[str(name)].definitions

    def __iter__(self) -> Iterator[str]:
        return (name for name in intrinsics() if name in self)

    def __len__(self) -> int:
        return len(tuple(iter(self)))
