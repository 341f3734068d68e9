"""Loops and conditions in kernel text, omitted where they would have no effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jinja2.runtime import Macro

from ..language import TRUE, Element, Expression, Name, Number, Operand, every, expression
from ..target import Target

Body = Callable[[Expression], str]
"""Returns the body of a loop for a counter."""

WIDTH = 100
"""Most characters of a line with the head of a loop and its statement."""

LONGEST_REPETITION = 400
"""Most lines of a loop that is written out; compilers take long for more."""


@dataclass(frozen=True)
class Variables:
    """Local variables of one type: an array, or a single variable if there is only one."""

    name: str
    count: int

    def __call__(self, index: Operand) -> Expression:
        """The variable at an index."""
        return Name(self.name) if self.count == 1 else Element(self.name, index)

    def __str__(self) -> str:
        """The declarator, which follows the type."""
        return self.name if self.count == 1 else f"{self.name}[{self.count}]"


def each(name: str, count: int, start: int = 0, *, caller: Body, scope: bool = False) -> str:
    """The body for every counter from `start` to `count` - 1, as a loop if there are several.

    With `scope` the body declares variables, so that it needs braces even without a loop.
    """
    if count <= start:
        return ""
    if count == start + 1:
        return _block(caller(Number(start)), scope)
    return headed(f"for (int {name} = {start}; {name} < {count}; {name}++)", caller(Name(name)))


def _repeated(name: str, count: int, body: Body) -> str:
    """The body for every counter, written out, or a loop if that would be too long."""
    first = body(Number(0))
    if count * len(first.splitlines()) > LONGEST_REPETITION:
        return each(name, count, caller=body)
    bodies = (first, *(body(Number(number)) for number in range(1, count)))
    return "".join(_block(text, "\n" in text.strip()) for text in bodies)


def when(condition: Expression, *, caller: Callable[[], str], scope: bool = False) -> str:
    """The body under a condition."""
    always = condition == TRUE
    return _block(caller(), scope) if always else headed(f"if ({condition})", caller())


def headed(head: str, body: str) -> str:
    """A body after the head of a loop or condition, in braces if it has several lines."""
    body = body.strip()
    if "\n" in body:
        return f"{head} {{\n{body}\n}}\n"
    return f"{head} {body}\n" if len(head) + len(body) < WIDTH else f"{head}\n{body}\n"


def _block(body: str, scope: bool) -> str:
    return f"{{\n{body.strip()}\n}}\n" if scope else f"{body.strip()}\n"


def inside(place: Operand, size: int, low: bool = True, high: bool = True) -> Expression:
    """The condition that a coordinate is in range, if it can be too low or too high."""
    known = expression(place)
    return (known >= 0 if low else TRUE) & (known < size if high else TRUE)


def vocabulary(target: Target) -> Mapping[str, Any]:
    """The functions of this module that templates can call, by name."""

    def rolled(name: str, count: int, start: int = 0, *, caller: Body, scope: bool = False) -> str:
        """Like `each`, with a hint against unrolling, as compilers that unroll short loops then
        load everything at once, and run out of registers.
        """
        hint, loop = target.language.roll, each(name, count, start, caller=caller, scope=scope)
        return f"{hint}\n{loop}" if hint and count > start + 1 else loop

    def kept(name: str, count: int, start: int = 0, *, caller: Body, scope: bool = False) -> str:
        """Like `each`, with the hint where all loops have it."""
        form = rolled if target.roll else each
        return form(name, count, start, caller=caller, scope=scope)

    def nested(*heads: str, caller: Callable[[], str]) -> str:
        """The body within such loops, whose heads are given from the outside in."""
        lines = [line for head in heads for line in (target.roll, head) if line]
        return headed("\n".join(lines), caller()) if heads else _block(caller(), scope=True)

    def unrolled(name: str, count: int, *, caller: Body, scope: bool = False) -> str:
        """Like `each`, but without a loop in the machine code, so that arrays indexed by the
        counter stay in registers.
        """
        hint = target.language.unroll
        if count > 1 and not hint:
            return _repeated(name, count, caller)
        loop = each(name, count, caller=caller, scope=scope)
        return f"{hint}\n{loop}" if count > 1 else loop

    def filled(kind: str, variables: Variables, *, caller: Macro) -> str:
        """The variables, of a type, each with the value that the body has for its index."""
        if variables.count == 1:
            return f"{kind} {variables} = {caller(Number(0))};\n"

        def assign(index: Expression) -> str:
            return f"{variables(index)} = {caller(index)};"

        (name,) = caller.arguments
        return f"{kind} {variables};\n{unrolled(name, variables.count, caller=assign)}"

    return {
        "all_of": every,
        "filled": filled,
        "either": lambda one, other: one | other,
        "array": Variables,
        "each": kept,
        "inside": inside,
        "nested": nested,
        "rolled": rolled,
        "unrolled": unrolled,
        "when": when,
    }
