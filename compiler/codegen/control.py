"""Loops and conditions of kernels, which are only written where they decide something."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..language import Language, number

Body = Callable[[str], str]
"""The text within a loop, from its counter."""

WIDTH = 100
"""Characters of a line at most, where a statement is put behind the head of its loop."""


@dataclass(frozen=True)
class Variables:
    """Local variables of one kind: an array, or a single variable without an index."""

    name: str
    count: int

    def __call__(self, index: str | int) -> str:
        """One of them."""
        return self.name if self.count == 1 else f"{self.name}[{index}]"

    def __str__(self) -> str:
        """What declares them, behind their type."""
        return self.name if self.count == 1 else f"{self.name}[{self.count}]"


def each(name: str, count: int, start: int = 0, *, caller: Body, scope: bool = False) -> str:
    """The statements for each value of a counter, which is below `count`: a loop, or those of its
    only value, or nothing.

    `scope` says that they declare variables.
    """
    if count <= start:
        return ""
    if count == start + 1:
        return _block(caller(str(start)), scope)
    return headed(f"for (int {name} = {start}; {name} < {count}; {name}++)", caller(name))


def when(condition: str, *, caller: Callable[[], str], scope: bool = False) -> str:
    """The statements where a condition holds; an empty one always does."""
    return headed(f"if ({condition})", caller()) if condition else _block(caller(), scope)


def headed(head: str, body: str) -> str:
    """Statements behind the head of a loop or a condition."""
    body = body.strip()
    if "\n" in body:
        return f"{head} {{\n{body}\n}}\n"
    return f"{head} {body}\n" if len(head) + len(body) < WIDTH else f"{head}\n{body}\n"


def _block(body: str, scope: bool) -> str:
    return f"{{\n{body.strip()}\n}}\n" if scope else f"{body.strip()}\n"


def nested(*heads: str, caller: Callable[[], str]) -> str:
    """Statements within loops and conditions, whose heads are given from the outside in."""
    return headed("\n".join(heads), caller()) if heads else _block(caller(), scope=True)


def all_of(*conditions: str) -> str:
    """The conditions that there are, joined."""
    return " && ".join(condition for condition in conditions if condition)


def inside(place: str, size: int, low: bool = True, high: bool = True) -> str:
    """The condition that a coordinate is in range, as far as it can be too low or too high."""
    return all_of(f"{place} >= 0" if low else "", f"{place} < {size}" if high else "")


def simple(text: str) -> bool:
    """Whether an expression needs no variable that holds its value: it is one, or a number."""
    return text.isidentifier() or number(text) is not None


def words(language: Language) -> Mapping[str, Any]:
    """What templates name of this."""

    def unrolled(name: str, count: int, *, caller: Body, scope: bool = False) -> str:
        """The same as `each` of a loop that compilers are to unroll."""
        loop = each(name, count, caller=caller, scope=scope)
        return f"{language.unroll}\n{loop}" if language.unroll and count > 1 else loop

    return {
        "all_of": all_of,
        "array": Variables,
        "each": each,
        "inside": inside,
        "nested": nested,
        "simple": simple,
        "unrolled": unrolled,
        "when": when,
    }
