"""Loops and conditions of kernels, omitted where they would have no effect."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...language.expression import FALSE, TRUE, Expression, Name, Operand, Operation, expression
from ...language.functions import every
from ...language.primary import Step
from ...language.statement import (
    Assign,
    Copy,
    Declare,
    Evaluate,
    For,
    If,
    Statements,
    While,
    body,
    statements,
)
from ...language.types import INT
from ...target import Target

Body = Callable[[Expression], object]  # Returns the body of a loop for a counter.
LONGEST_REPETITION = 400  # Most lines of a loop that is written out; compilers take long for more.


@dataclass(slots=True)
class Head:
    counter: str
    first: Expression
    end: Expression
    step: int
    limit: int | None = None  # The most rounds, as a template says it.

    @property
    def known(self) -> bool:
        """Whether the number of rounds is, and each is a step by 1."""
        return None not in (self.first.value, self.end.value) and self.step == 1

    @property
    def rounds(self) -> int:
        """How many there are, if that is known."""
        assert self.first.value is not None and self.end.value is not None
        return max(self.end.value - self.first.value, 0)

    @property
    def most(self) -> int:
        """The most rounds there can be; the first counter is never below 0 if it is not known."""
        if self.limit is not None:
            return self.limit
        if self.end.value is None:
            raise TypeError(
                f"range({self.first}, {self.end}) does not say how `long` it is at most"
            )
        return max(-(-(self.end.value - (self.first.value or 0)) // self.step), 0)

    @property
    def single(self) -> bool:
        """Whether work-items that share a loop have a round each: each starts below the step."""
        return self.step > 1 and self.most == 1 and isinstance(self.first, Name)

    @property
    def at(self) -> Expression:
        """What stands for the counter in the statements of the loop."""
        return self.first if self.single else Name(self.counter)

    def over(self, inner: Statements, hint: str) -> Statements:
        """The loop over statements, or a condition instead of it."""
        if self.single:
            return when(inside(self.first, self.end, False, self.end.value != self.step), inner)
        counter, by = Name(self.counter), expression(self.step)
        step = Evaluate(Step(counter, 1)) if self.step == 1 else Assign(counter, "+=", by)
        start = Declare(INT, self.counter, value=self.first)
        end = Operation("<", counter, self.end)
        return body(For(start, end, step, inner, hint, self.most))


def head(counter: str, *bounds: Operand, long: int | None = None) -> Head:
    """A loop over a range, which has the bounds of Python's, and is so `long` at most."""
    first, end, *step = (0, *bounds) if len(bounds) == 1 else bounds
    (by,) = step or [1]
    assert isinstance(by, int)
    return Head(counter, expression(first), expression(end), by, long)


def body_of(value: object) -> Statements:
    """What a template gives for the body of a statement."""
    return value if isinstance(value, Statements) else statements([value])


def when(condition: Expression, then: object, other: object = "") -> Statements:
    """Statements under a condition, and others otherwise."""
    if condition in (TRUE, FALSE):
        return body(Copy(body_of(then if condition == TRUE else other)))
    return body(If(condition, body_of(then), body_of(other)))


def inside(place: Operand, size: Operand, low: bool = True, high: bool = True) -> Expression:
    """The condition that a coordinate is in range, if it can be too low or too high."""
    known = expression(place)
    return (known >= 0 if low else TRUE) & (known < size if high else TRUE)


def _loop(found: Head, hint: str, inner: Body) -> Statements:
    """A loop; its body without one if there is a single round."""
    if not found.known or found.rounds > 1:
        return found.over(body_of(inner(found.at)), hint)
    rounds = [body_of(inner(found.first))] if found.rounds else []
    return body(*map(Copy, rounds))


def vocabulary(target: Target) -> Mapping[str, Any]:
    """The functions of this module that templates can call, by name."""

    def each(counter: str, *bounds: Operand, caller: Body, long: int | None = None) -> Statements:
        """The body for every counter of a range, which is so `long` at most."""
        return _loop(head(counter, *bounds, long=long), "", caller)

    def rolled(counter: str, *bounds: Operand, caller: Body) -> Statements:
        """Like `each`, with a hint against unrolling, as compilers that unroll short loops then
        load everything at once, and run out of registers.
        """
        return _loop(head(counter, *bounds), target.language.roll, caller)

    def kept(counter: str, *bounds: Operand, caller: Body, long: int | None = None) -> Statements:
        """Like `each`, with the hint where all loops have it."""
        return _loop(head(counter, *bounds, long=long), target.roll, caller)

    def unrolled(counter: str, *bounds: Operand, caller: Body) -> Statements:
        """Like `each`, but without a loop in the machine code, so that arrays indexed by the
        counter stay in registers.
        """
        found, hint = head(counter, *bounds), target.language.unroll
        if hint or found.rounds < 2:
            return _loop(found, hint, caller)
        first = body_of(caller(found.first))
        if found.rounds * first.length > LONGEST_REPETITION:
            return _loop(found, "", caller)
        others = (body_of(caller(found.first + n)) for n in range(1, found.rounds))
        return body(*(Copy(each, True) for each in (first, *others)))

    def nested(
        heads: list[Head], *, caller: Callable[[], str], unroll: bool = False, roll: bool = False
    ) -> Statements:
        """The body within several loops, given from the outside in; more than one are kept if
        `roll`.
        """
        found, language = body_of(caller()), target.language
        kept_hint = language.roll if roll and len(heads) > 1 else target.roll
        hint = language.unroll if unroll else kept_hint
        for each_head in reversed(heads):
            found = each_head.over(found, hint)
        return found if heads else body(Copy(found))

    def halves(counter: str, first: int, *, caller: Body) -> Statements:
        """The body for a power of two, for half of it and so on, down to 1."""
        if first < 2:
            return _loop(head(counter, first, 2 * first), "", caller)
        known = Name(counter)
        start = Declare(INT, counter, value=expression(first))
        step = Assign(known, "/=", expression(2))
        return body(For(start, known > 0, step, body_of(caller(known)), "", first.bit_length()))

    def by_slices(
        counter: str, channels: int, *, caller: Callable[[Expression, int], object]
    ) -> Statements:
        """The body for each slice of so many channels, and how many of its lanes they fill: all,
        or those of the last slice, which stands apart.
        """
        whole, rest = divmod(channels, target.lanes)
        slices = kept(counter, whole, caller=lambda s: caller(s, target.lanes))
        last = kept(counter, whole, whole + (rest > 0), caller=lambda s: caller(s, rest))
        return body(*slices.items, *last.items)

    def as_long_as(condition: Expression, inner: object) -> Statements:
        return body(While(condition, body_of(inner)))

    return {
        "all_of": every,
        "as_long_as": as_long_as,
        "by_slices": by_slices,
        "each": each,
        "either": lambda one, other: one | other,
        "halves": halves,
        "inside": inside,
        "kept": kept,
        "loop_over": head,
        "nested": nested,
        "rolled": rolled,
        "unrolled": unrolled,
        "when": when,
    }
