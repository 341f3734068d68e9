"""Variables of kernels: how templates declare them and assign to them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...language.expression import Expression, Name, Number, Operand, expression
from ...language.primary import Array
from ...language.statement import Assign, Declare, Statements, assignment, body
from ...language.types import INT
from .control import Body


@dataclass(slots=True)
class Declared:
    """What declares a variable, and what stands for it."""

    statements: Statements
    value: Expression


NONE = Statements(())


def assigned(target: Expression, sign: str, value: Operand) -> Statements:
    """The assignment of a value to a variable or an element."""
    known = expression(value)
    if sign == "=":
        return body(assignment(target, known))
    return body(Assign(target, sign, known))


def variable(value: Operand, name: str) -> Declared:
    known = expression(value)
    statements = body(Declare(known.type, name, value=known))
    return Declared(statements, Name(name, known.type, changes=True))


def constant(value: Operand, name: str) -> Declared:
    """A variable that keeps its value; a number, or another such variable, stays as it is."""
    known = expression(value)
    if known.simple and not (isinstance(known, Name) and known.changes):
        return Declared(NONE, known)
    statements = body(Declare(known.type, name, value=known))
    return Declared(statements, Name(name, known.type))


def called(key: int | str, name: str) -> str:
    return key if isinstance(key, str) else f"{name}{key}"


# What the tags of statements call, as filters, which templates need not look up.
FILTERS = {each.__name__: each for each in (assigned, called, constant, variable)}


def array(name: str, count: int, type: str = INT, constant: bool = False) -> Array:
    """A local array, or a single variable."""
    return Array(name, count, type, count == 1, constant)


def declare(found: Array) -> Statements:
    """The declaration of an array whose elements get their values later."""
    size = 0 if found.single else found.count
    return body(Declare(found.type, found.name, size))


def _distance(value: Callable[[Expression], Expression]) -> int | None:
    """By how much integers grow with an index, if it is the same between any two."""
    first, index = value(Number(0)), Name("index")
    step = (value(Number(1)) - first).value if first.type == INT else None
    if step is None or (value(index) - first - index * step).value != 0:
        return None
    return step


def vocabulary(unrolled: Callable[..., Statements]) -> Mapping[str, Any]:
    """The functions that declare arrays; `unrolled` repeats statements."""

    def filled(found: Array, counter: str, *, caller: Body) -> Statements:
        """An array of which each element has the value that the body gives for its index."""

        def value(index: Expression) -> Expression:
            known = expression(caller(index))  # type: ignore[arg-type]
            found.type = known.type
            return known

        found.first = None
        step = (0 if found.single else _distance(value)) if found.constant else None
        if step is not None:
            held = constant(value(Number(0)), found.name)
            found.first, found.step = held.value, step
            return held.statements
        if found.single:
            first = value(Number(0))
            return body(Declare(found.type, found.name, value=first))

        def assign(index: Expression) -> Statements:
            known = value(index)
            return assigned(found(index), "=", known)

        rounds = unrolled(counter, found.count, caller=assign)
        return body(*declare(found).items, *rounds.items)

    return {
        "array": array,
        "declare": declare,
        "filled": filled,
        "local": lambda name, type=INT: Name(name, type, changes=True),
    }
