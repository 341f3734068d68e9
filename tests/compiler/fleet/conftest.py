"""Models and stores for the tests of many compilations."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from cases.convolutions import window
from devices import best_opencl_device
from graphs import call, model, w, x
from graphs.steps import elementwise
from graphs.values import Constant

if TYPE_CHECKING:
    from tornado.ioloop import IOLoop

NAMES = ("ABS", "EXP", "COS")


@pytest.fixture
def opencl_device() -> str:
    """One: what becomes of its measurements does not depend on the driver."""
    return best_opencl_device()


@pytest.fixture(scope="session")
def loop() -> Iterator[IOLoop]:
    """For clusters in this process: one of their own must start within ten seconds, whatever else
    the machine does, and what is left of a cluster without one fails the test after it."""
    from tornado.ioloop import IOLoop

    started: Future[tuple[IOLoop, asyncio.Event]] = Future()

    async def run() -> None:
        ended = asyncio.Event()
        started.set_result((IOLoop.current(), ended))
        await ended.wait()

    thread = Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    running, ended = started.result()
    yield running
    running.add_callback(ended.set)
    thread.join()


@pytest.fixture
def threads(loop: IOLoop) -> Iterator[Any]:
    """A scheduler that listens as any other, with two workers that are threads of this process."""
    import distributed

    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        dashboard_address=":0",
        loop=loop,
    ) as local:
        yield local


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of small models, one of which no part of tflgpu can compile."""
    folder = tmp_path / "models"
    folder.mkdir()
    for name in NAMES:
        elementwise(folder / f"{name}.tflite", name)
    (folder / "BAD.tflite").write_text("this is not a model")
    return folder


@pytest.fixture
def beyond_half(tmp_path: Path) -> Path:
    """A model of which compiling with f16 warns."""
    large = Constant((8,), values=np.full(8, 1e6, np.float32))
    made = model({"sum": call("CONV_2D", x(1, 4, 4, 8), w(8, 1, 1, 8), large, **window())})
    path = tmp_path / "beyond half.tflite"
    path.write_bytes(made.content)
    return path
