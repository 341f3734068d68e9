"""One request to a store: how much of its answer may arrive, and how slowly.

A store may be a stranger's, or behind a bad connection: an answer that never comes, that comes a
byte at a time or that never ends must not stop whoever asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextvars import ContextVar
from typing import Any, TypeVar

FLOOR = 1 << 10  # Bytes a second at which an answer must arrive.
CURRENT: ContextVar[Transfer] = ContextVar("transfer")  # The transfer that a coroutine belongs to.

_Result = TypeVar("_Result")


class Stalled(Exception):
    """An answer does not arrive, or too slowly."""


class TooLong(Exception):
    """An answer has more bytes than it may have."""


class Transfer:
    """An answer of at most `limit` bytes.

    In `timeout` seconds, `timeout` x FLOOR bytes of it must arrive, or its end.
    """

    def __init__(self, limit: int, timeout: float) -> None:
        self._limit = limit
        self._timeout = timeout
        self._size = 0

    def arrived(self, size: int) -> None:
        """More bytes have arrived (TooLong)."""
        self.reached(None, self._size + size)

    def reached(self, whole: int | None, size: int, **others: Any) -> None:
        """So many bytes have arrived, of a whole that may be known (TooLong). A hook of fsspec."""
        self._size = size
        self._check(max(size, whole or 0))

    def _check(self, size: int) -> None:
        if size > self._limit:
            raise TooLong(f"it has more than {self._limit} bytes")

    async def result(self, answer: Awaitable[_Result]) -> _Result:
        """What an answer is, once it is there (Stalled, TooLong)."""
        CURRENT.set(self)
        task = asyncio.ensure_future(answer)
        task.add_done_callback(_ignore)
        least = FLOOR * self._timeout
        while True:
            before = self._size
            await asyncio.wait([task], timeout=self._timeout)
            if task.done():
                break
            if self._size - before < least:
                task.cancel()
                raise Stalled(
                    f"fewer than {least:g} bytes in {self._timeout:g} s"
                    if self._size
                    else f"no answer in {self._timeout:g} s"
                )
        # Whoever reads the answer may have taken the error for one of the connection.
        self._check(self._size)
        return task.result()


def _ignore(task: asyncio.Future[Any]) -> None:
    """Asyncio reports an error that nobody has asked for."""
    if not task.cancelled():
        task.exception()
