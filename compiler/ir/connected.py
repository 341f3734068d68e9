"""What is connected: things that lead to one another, by a function that names the next ones."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def reached(starts: Iterable[T], near: Callable[[T], Iterable[T]]) -> dict[T, None]:
    """Some things and what they lead to, over others as well, in the order in which it is found."""
    found = dict.fromkeys(starts)
    waiting = list(found)
    while waiting:
        new = [each for each in near(waiting.pop()) if each not in found]
        found.update(dict.fromkeys(new))
        waiting += dict.fromkeys(new)
    return found


def components(things: Iterable[T], near: Callable[[T], Iterable[T]]) -> Iterator[list[T]]:
    """Things in groups, each of those that are connected."""
    left = dict.fromkeys(things)
    while left:
        start = next(iter(left))
        group = reached([start], lambda one: [each for each in near(one) if each in left])
        for each in group:
            del left[each]
        yield list(group)
