"""A kernel in WGSL: its body and the functions that it calls."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from ...errors import RenderError
from ...language.expression import Name
from ...language.primary import Element
from ...language.statement import Declare, Printed, Statements
from ...language.types import INT
from .builtins import Unprintable
from .functions import Functions
from .parse import ParseError
from .printer import WGSLPrinter

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
    except (ParseError, Unprintable) as error:
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
