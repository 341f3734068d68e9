"""The roofline of a device: how fast it computes and moves memory at best, measured.

Two small kernels are compiled like a model's own: multiply-adds that never leave the registers,
and copies of several sizes, since tensors that fit into a cache move faster than others. A third
plan has many dispatches of a kernel that does next to nothing: what is left is their own time.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from time import perf_counter

import numpy as np

from .... import runtime
from ....runtime.plan.records import Dispatch
from ... import pipeline
from ...emit.compiled_model import CompiledModel
from ...ir import Array, Graph, Op, Origin, Tensor
from ...ops.base import SLICED, Implementation, Launch
from ...options import Options
from ...schedule.sizes import Sizing
from ...select.storage import Choice
from ...target import Target

COPIES = (1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 26)
"""Bytes each copy reads, and writes again."""
COLUMNS = 1024
"""Work-items in a row of a copy, so that no axis of its grid is too long for any device."""
TURNS = 1024
"""Multiply-adds of each chain."""
ITEMS_OVER = 16
"""How many times as many work-items as keep the device busy."""
REPEATS = 4
"""Launches of each kernel in a row, so that the later ones find in the caches what fits there."""
PASSES = 8
"""Over all kernels. The fastest launch counts: a roof is what the device can do undisturbed."""
DISPATCHES = 1000
"""Of the kernel that does next to nothing."""
RUNS = 20
"""Of these dispatches."""


@dataclass(frozen=True)
class Roofline:
    """What a device can do at best."""

    flops: float
    """Operations a second, a multiply-add counting two."""
    copies: tuple[tuple[int, float], ...]
    """For each copy the bytes it moved, reads and writes together, and its bytes a second."""
    dispatch: float
    """Seconds a dispatch takes besides its kernel's work, on the host and on the device."""

    def bandwidth(self, moved: int) -> float:
        """Bytes a second of the fastest copy that moved at least that much."""
        speeds = [speed for size, speed in self.copies if size >= moved]
        return max(speeds) if speeds else max(self.copies)[1]

    def seconds(self, flops: int, moved: int) -> float:
        """The least time in which the device can do that many operations and move those bytes."""
        return max(flops / self.flops, moved / self.bandwidth(moved))


def _multiply_adds(op: Op, target: Target) -> Sequence[Launch]:
    _, height, width, lanes = op.output.shape
    chains = target.device.accumulators
    launch = Launch(
        "roofline/roofline_arithmetic.jinja",
        (width, height, 1),
        {"x": op.operand(0)},
        {"y": op.output},
        variables={"chains": chains, "turns": TURNS},
        heavy=True,
        flops=width * height * lanes * chains * TURNS * 2,
    )
    return [launch] * REPEATS


def _copy(op: Op, target: Target) -> Sequence[Launch]:
    _, height, width, _ = op.output.shape
    grid = (width, height, 1)
    launch = Launch("roofline/roofline_copy.jinja", grid, {"x": op.operand(0)}, {"y": op.output})
    return [launch] * REPEATS


def _tiny_copies(op: Op, target: Target) -> Sequence[Launch]:
    reads, writes = {"x": op.operand(0)}, {"y": op.output}
    launch = Launch("roofline/roofline_copy.jinja", (1, 1, 1), reads, writes)
    return [launch] * DISPATCHES


ARITHMETIC = Implementation("multiply-adds", _multiply_adds)
COPY = Implementation("copy", _copy)
TINY_COPIES = Implementation("dispatches", _tiny_copies)


def _add(graph: Graph, name: str, shapes: tuple[Iterable[int], Iterable[int]]) -> Op:
    """An operator with an input and an output of its own."""
    source, result = (
        Tensor(f"{name} {role}", tuple(shape))
        for role, shape in zip(("from", "to"), shapes, strict=True)
    )
    graph.inputs.append(source)
    graph.input_names.append(source.name)
    graph.outputs.append(result)
    graph.output_names.append(result.name)
    origin = Origin(len(graph), name)
    return graph.add(Op(name, (source,), (result,), index=len(graph), origins=(origin,)))


def compile_roofline(target: Target) -> CompiledModel:
    """The kernels as a compiled model whose first dispatches compute and whose others copy."""
    lanes = target.lanes
    graph = Graph("roofline")
    items = target.device.work_items * ITEMS_OVER
    rows = max(items // COLUMNS, 1)
    shapes = ((1, 1, 2, lanes), (1, rows, items // rows, lanes))
    choice = {_add(graph, "multiply-adds", shapes): ARITHMETIC}
    for size in COPIES:
        shape = (1, size // (4 * lanes * COLUMNS) or 1, min(size // (4 * lanes), COLUMNS), lanes)
        choice[_add(graph, f"copy of {size} bytes", (shape, shape))] = COPY
    return _compiled(graph, choice, target)


def compile_dispatches(target: Target) -> CompiledModel:
    """A compiled model that dispatches a kernel of one work-item many times."""
    graph = Graph("dispatches")
    shape = (1, 1, 1, target.lanes)
    choice = {_add(graph, "dispatches", (shape, shape)): TINY_COPIES}
    return _compiled(graph, choice, target)


def _compiled(graph: Graph, choice: Choice, target: Target) -> CompiledModel:
    storages = dict.fromkeys((*graph.inputs, *graph.outputs), SLICED)
    selected = pipeline.Selected(graph, {}, choice, storages, (), (), len(graph))
    content = hashlib.sha256(graph.name.encode()).hexdigest()
    options = Options(target=target.language.name)
    return pipeline.generate_plan(selected, options, target, graph.name, content, Sizing())


def measure(device: str, target: Target) -> Roofline:
    """The roofline of an attached device, given as `runtime.load` takes it (DeviceError)."""
    compiled = compile_roofline(target)
    with _loaded(compiled, device) as session:
        inputs = _inputs(session)
        passes = [[time for _, time in session.profile(inputs)] for _ in range(PASSES)]
    # A clock too coarse for the shortest copies gives zeros.
    best = np.maximum(np.reshape(passes, (PASSES, -1, REPEATS)).min(axis=(0, 2)), 1e-9)
    arithmetic, *copies = compiled.plan.dispatches[::REPEATS]
    sizes = [bytes_moved(copy) for copy in copies]
    return Roofline(
        arithmetic.flops / float(best[0]),
        tuple((size, size / float(time)) for size, time in zip(sizes, best[1:], strict=True)),
        _dispatch_seconds(device, target),
    )


def _dispatch_seconds(device: str, target: Target) -> float:
    """The fastest run counts, as with the kernels; copying its few bytes is a small part of it."""
    with _loaded(compile_dispatches(target), device) as session:
        inputs = _inputs(session)
        times = []
        for _ in range(RUNS):
            start = perf_counter()
            session.run(inputs)
            times.append(perf_counter() - start)
    return min(times) / DISPATCHES


@contextmanager
def _loaded(compiled: CompiledModel, device: str) -> Iterator[runtime.Session]:
    with tempfile.TemporaryDirectory(prefix="tflgpu-") as cache:
        path = pipeline.store(compiled, Path(cache))
        with runtime.load(path, device=device, store_binaries=False) as session:
            yield session


def bytes_moved(dispatch: Dispatch) -> int:
    """Bytes a dispatch reads and writes if it touches each byte of its arguments once."""
    return sum(argument.size for argument in dispatch.arguments)


def _inputs(session: runtime.Session) -> list[Array]:
    """Factors below 1, so that the sums stay finite, and numbers to copy."""
    return [
        np.linspace(0.25, 0.75, prod(info.shape), dtype=np.float32).reshape(info.shape)
        for info in session.inputs
    ]
