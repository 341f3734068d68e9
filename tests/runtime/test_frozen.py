"""Frozen dataclasses that share their methods are what `dataclasses` makes."""

import copy
import dataclasses
import inspect
import pickle
from dataclasses import FrozenInstanceError, field
from typing import Any

import pytest

from tflgpu.runtime.frozen import dataclass


@dataclass(frozen=True)
class Point:
    """A record."""

    x: int
    y: int = 2
    names: list[str] = field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Reference:
    """The same."""

    x: int
    y: int = 2
    names: list[str] = field(default_factory=list)


MADE: list[dict[str, Any]] = [{"x": 1}, {"x": 1, "y": 3}, {"y": 3, "x": 1, "names": ["a"]}]


@pytest.mark.parametrize("given", MADE)
def test_it_holds_the_same(given: dict[str, Any]) -> None:
    made, reference = Point(**given), Reference(**given)
    assert vars(made) == vars(reference)
    assert repr(made) == repr(reference).replace("Reference", "Point")
    assert dataclasses.asdict(made) == dataclasses.asdict(reference)
    assert Point(*vars(reference).values()) == made
    others: list[object] = [reference, Point(5)]
    assert made not in others
    assert copy.deepcopy(made) == made == pickle.loads(pickle.dumps(made))
    assert dataclasses.replace(made, y=9) == Point(made.x, 9, made.names)
    assert hash(Point(1, names=())) == hash(Point(1, 2, ()))  # type: ignore[arg-type]


def test_defaults_are_made_anew() -> None:
    assert Point(1).names is not Point(1).names


@pytest.mark.parametrize("arguments", [(), (1, 2, [], 4)])
@pytest.mark.parametrize("named", [{}, {"z": 1}])
def test_what_does_not_fit(arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
    kinds: list[Any] = [Point, Reference]
    for each in kinds:
        with pytest.raises(TypeError):
            each(*arguments, **named)
        with pytest.raises(TypeError):
            each(1, x=1, **named)


def test_it_cannot_be_changed() -> None:
    made = Point(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        made.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del made.x
    assert made.x == 1


def test_its_signature_is_that_of_its_fields() -> None:
    name, y, names = inspect.signature(Point).parameters.values()
    assert (name.default, y.default, names.default) == (inspect.Parameter.empty, 2, list)
    assert [each.annotation for each in (name, y, names)] == [int, int, list[str]]
