"""Loops and conditions in kernel text, omitted where they would have no effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..language import number
from ..target import Target

Body = Callable[[str], str]
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

    def __call__(self, index: str | int) -> str:
        """The variable at an index."""
        return self.name if self.count == 1 else f"{self.name}[{index}]"

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
        return _block(caller(str(start)), scope)
    return headed(f"for (int {name} = {start}; {name} < {count}; {name}++)", caller(name))


def _repeated(name: str, count: int, body: Body) -> str:
    """The body for every counter, written out, or a loop if that would be too long."""
    first = body("0")
    if count * len(first.splitlines()) > LONGEST_REPETITION:
        return each(name, count, caller=body)
    bodies = (first, *(body(str(number)) for number in range(1, count)))
    return "".join(_block(text, "\n" in text.strip()) for text in bodies)


def when(condition: str, *, caller: Callable[[], str], scope: bool = False) -> str:
    """The body under a condition; an empty condition always holds."""
    return headed(f"if ({condition})", caller()) if condition else _block(caller(), scope)


def headed(head: str, body: str) -> str:
    """A body after the head of a loop or condition, in braces if it has several lines."""
    body = body.strip()
    if "\n" in body:
        return f"{head} {{\n{body}\n}}\n"
    return f"{head} {body}\n" if len(head) + len(body) < WIDTH else f"{head}\n{body}\n"


def _block(body: str, scope: bool) -> str:
    return f"{{\n{body.strip()}\n}}\n" if scope else f"{body.strip()}\n"


def all_of(*conditions: str) -> str:
    """The conjunction of the conditions that are not empty."""
    return " && ".join(condition for condition in conditions if condition)


def inside(place: str, size: int, low: bool = True, high: bool = True) -> str:
    """The condition that a coordinate is in range, if it can be too low or too high."""
    return all_of(f"{place} >= 0" if low else "", f"{place} < {size}" if high else "")


def simple(text: str) -> bool:
    """Whether an expression is a variable or a number, so that it can be repeated."""
    return text.isidentifier() or number(text) is not None


def vocabulary(target: Target) -> Mapping[str, Any]:
    """The functions of this module that templates can call, by name."""

    def kept(name: str, count: int, start: int = 0, *, caller: Body, scope: bool = False) -> str:
        """Like `each`, with a hint against unrolling, as compilers that unroll short loops then
        load everything at once, and run out of registers.
        """
        loop = each(name, count, start, caller=caller, scope=scope)
        return f"{target.roll}\n{loop}" if target.roll and count > start + 1 else loop

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

    return {
        "all_of": all_of,
        "array": Variables,
        "each": kept,
        "inside": inside,
        "nested": nested,
        "simple": simple,
        "unrolled": unrolled,
        "when": when,
    }
