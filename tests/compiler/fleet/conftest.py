"""Models and stores for the tests of many compilations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
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
    """For clusters in this process: what is left of one without a loop of its own fails the test
    after it."""
    from tflgpu.compiler.fleet.cluster import running_loop

    with running_loop() as running:
        yield running


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
