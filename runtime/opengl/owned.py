"""Objects of an OpenGL context that must be released."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ..errors import DeviceError
from ..launch.owned import Owned
from .egl import Context


class OwnedObjects(Owned[Any]):
    """Objects of a context, each with a method `release`."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context

    def add(self, item: Any) -> None:
        self._items.append(item)

    def _free(self, items: Sequence[Any]) -> None:
        with suppress(DeviceError), self._context:
            for item in items:
                item.release()
