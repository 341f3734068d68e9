"""Objects of a driver that must be released."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Owned(Generic[Item]):
    """Objects in the order in which they were made."""

    def __init__(self, free: Callable[[Sequence[Item]], None]) -> None:
        """`free` releases some of them, whether or not the driver reports errors."""
        self._free = free
        self._items: list[Item] = []

    def keep(self, item: Item) -> None:
        self._items.append(item)

    @contextmanager
    def scope(self) -> Iterator[Callable[[], None]]:
        """A block that yields what releases the objects added in it, which it does if it raises."""
        start = len(self._items)
        inner: list[Item] = []

        def free() -> None:
            self._free(inner)
            inner.clear()

        try:
            yield free
        except BaseException:
            inner += self._items[start:]
            free()
            raise
        else:
            inner += self._items[start:]
        finally:
            del self._items[start:]

    def release(self) -> None:
        self._free(self._items)
        self._items.clear()
