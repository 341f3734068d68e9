"""A kernel in WGSL: its body and the functions that it calls.

Functions are intrinsics for the types of what they are given.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from ...errors import RenderError
from ...language.expression import Name
from ...language.language import WGSL
from ...language.primary import Element
from ...language.printing import indented
from ...language.statement import Declare, Printed, Return, Statements, body
from ...language.types import INT
from ..functions.definitions import Function, Macro, definition
from .builtins import Unprintable, named
from .printer import WGSLPrinter
from .types import wgsl
from .values import Value


class Functions:
    """Those of one kernel, each of which is printed once."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}  # By name.
        self._values: dict[tuple[str, tuple[str, ...]], Value] = {}

    def value(self, intrinsic: str, types: tuple[str, ...]) -> Value:
        """The name of the function for arguments of such types, with the type of its result."""
        if (intrinsic, types) not in self._values:
            name = named(intrinsic)
            if any(name == other.text for other in self._values.values()):
                name += f"_{wgsl(types[0])}"
            self._values[intrinsic, types] = Value(name, "")  # taken, also while it is printed
            self._values[intrinsic, types] = self._print(name, *_function(intrinsic, types))
        return self._values[intrinsic, types]

    def _print(self, name: str, parameters: Mapping[str, str], statements: Statements) -> Value:
        printer = WGSLPrinter(parameters, self.value)
        lines = printer.lines(statements)
        result = printer.returned
        changed = printer.changed  # in WGSL, parameters do not change
        copies = [f"var {named(each)} = given_{named(each)};" for each in changed]
        given = ", ".join(
            f"{'given_' if each in changed else ''}{named(each)}: {wgsl(type)}"
            for each, type in parameters.items()
        )
        head = f"fn {name}({given}) -> {wgsl(result)} {{"
        self.texts[name] = "\n".join([head, *indented([*copies, *lines]), "}"])
        return Value(name, result)


def _function(intrinsic: str, types: tuple[str, ...]) -> tuple[Mapping[str, str], Statements]:
    """The parameters with such types, and the statements (Unprintable)."""
    found = definition(intrinsic, WGSL)
    if isinstance(found, Macro):
        (only,) = found.body
        names = (each.text for each in found.parameters)
        return dict(zip(names, types, strict=True)), body(Return(only.value))
    assert isinstance(found, Function)
    if tuple(found.parameters.values()) != types:
        raise Unprintable(f"no {intrinsic} of {', '.join(types)} in compiler/intrinsics")
    return found.parameters, found.body


SIZES = "sizes"  # The array of what kernels for several sizes read.


def print_kernel(
    template: str,
    body: Statements,
    arrays: Mapping[str, str],
    given: Mapping[int, str] = MappingProxyType({}),
) -> Printed:
    """The text of a kernel in WGSL; `arrays` has the types of buffers and local memory.

    `given` has variables that stand for numbers, as `Printed.reading` says. RenderError that names
    the template, for definitions that are not in GLSL and for functions that WGSL does not have.
    """
    names = dict.fromkeys(given.values())
    read = [
        Declare(INT, name, value=Element(Name(SIZES), place)) for place, name in enumerate(names)
    ]
    types = {**arrays, SIZES: "int[]"} if names else arrays
    statements = Statements((*read, *body.items))
    try:
        functions = Functions()
        printer = WGSLPrinter(types, functions.value, given=given)
        lines = printer.lines(statements)
        atomic = frozenset(printer.atomic)
        if atomic:
            printer = WGSLPrinter(types, functions.value, atomic, given)
            lines = printer.lines(statements)
    except Unprintable as error:
        raise RenderError(f"{template}, for WGSL: {error}") from error
    # Bindings that a kernel does not name are left out of its layout.
    unnamed = [f"_ = &{name};" for name in printer.unnamed]
    return Printed(
        "\n".join(f"  {line}" for line in (*unnamed, *lines)),
        tuple(functions.texts.values()),
        atomic,
        tuple(printer.sizes),
        partial(print_kernel, template, body, arrays),
    )
