"""Objects of an OpenGL context that must be released."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ..errors import DeviceError
from .egl import Context


class Owned:
    """Objects of a context, each with a method `release`."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._items: list[Any] = []

    def add(self, item: Any) -> None:
        self._items.append(item)

    @contextmanager
    def scope(self) -> Iterator[Callable[[], None]]:
        """A block that yields what releases the objects added in it, which it does if it raises."""
        start, scope = len(self._items), Owned(self._context)
        try:
            yield scope.release
        except BaseException:
            scope._items = self._items[start:]
            scope.release()
            raise
        else:
            scope._items = self._items[start:]
        finally:
            del self._items[start:]

    def release(self) -> None:
        """Release all objects that can be; errors have been reported before."""
        with suppress(DeviceError), self._context:
            for item in self._items:
                item.release()
        self._items.clear()
