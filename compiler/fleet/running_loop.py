"""The event loop of a cluster, in a thread of its own.

One of Dask's own must start within ten seconds, or an assertion fails: too few where the machine
has much else to do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread

from tornado.ioloop import IOLoop

from ..errors import WorkerError

PATIENCE = 10
"""Seconds to wait for what is still under way when the loop ends."""


@contextmanager
def running_loop() -> Iterator[IOLoop]:
    """A loop, which is waited for until it runs (WorkerError)."""
    started: Future[tuple[IOLoop, asyncio.Event]] = Future()

    async def until_ended() -> None:
        ended = asyncio.Event()
        started.set_result((IOLoop.current(), ended))
        await ended.wait()

    def run() -> None:
        try:
            asyncio.run(until_ended())
        except OSError as error:
            if started.done():
                raise
            started.set_exception(error)

    thread = Thread(target=run, daemon=True, name="event loop of a cluster")
    try:
        thread.start()
        loop, ended = started.result()
    except (OSError, RuntimeError) as error:
        raise WorkerError(f"cannot start an event loop for Dask: {error}") from error
    try:
        yield loop
    finally:
        loop.add_callback(ended.set)
        thread.join(PATIENCE)
