"""The measured roofline of a device: its peak arithmetic and memory throughput.

Williams et al., "Roofline: An Insightful Visual Performance Model", 2009. Two small kernels are
compiled like those of a model: multiply-adds that stay in registers, and copies of several sizes,
since tensors that fit into a cache move faster. Another plan has many dispatches of a kernel that
does almost nothing, which gives the cost of a dispatch itself.

Measuring takes seconds and a quiet machine, and the result does not change. So it is stored, in a
file per device, driver and profile in the user's cache folder, and is valid as long as the measured
kernels are the same.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import date
from math import prod
from pathlib import Path
from time import perf_counter

import numpy as np
from platformdirs import user_cache_path

from .... import runtime
from ....runtime.cache.binaries import device_key
from ....runtime.cache.private_files import replace_file
from ....runtime.launch.device import DeviceInfo
from ....runtime.plan.records import Dispatch
from ....runtime.typed_json import typed
from ... import pipeline
from ...emit.compiled_model import CompiledModel
from ...frontend.model_file import Identity
from ...ir import Array, Graph, Op, Origin, Tensor
from ...ops.base.definition import Implementation
from ...ops.base.launch import Launch
from ...ops.base.storage import SLICED
from ...options import Options
from ...scratch import scratch_folder
from ...select.conversions import Selected
from ...select.storage import Choice
from ...sizing.sizes import size_operators
from ...target import Target

# Bytes that each copy reads and then writes.
COPIES = (1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 26)
COLUMNS = 1024  # Work-items per row of a copy's grid, within the limits of every device.
TURNS = 1024  # Multiply-adds of each chain of dependent ones.
ITEMS_OVER = 16  # Work-items of the arithmetic kernel per work-item that keeps the device busy.
REPEATS = 4  # Consecutive launches of each kernel, so that the later ones have warm caches.
# Runs of all kernels. The fastest launch counts, since a roofline is the undisturbed peak.
PASSES = 8
DISPATCHES = 1000  # Dispatches of the kernel that does almost nothing.
RUNS = 20  # Runs of all these dispatches.


@dataclass(frozen=True)
class Roofline:
    flops: float  # Operations per second, a multiply-add counting as two.
    # For each copy, the bytes read and written together, and bytes per second.
    copies: tuple[tuple[int, float], ...]
    # Seconds per dispatch, apart from its kernel's work, on host and device together.
    dispatch: float

    def bandwidth(self, moved: int) -> float:
        """Bytes per second of the fastest copy that moved at least `moved` bytes."""
        speeds = [speed for size, speed in self.copies if size >= moved]
        return max(speeds) if speeds else max(self.copies)[1]

    def seconds(self, flops: int, moved: int) -> float:
        """The shortest time for that many operations and bytes moved."""
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
    """Add an operator with a new input and a new output, which are the graph's."""
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
    """A compiled model whose first dispatches compute and whose others copy."""
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
    sized = size_operators(Selected(graph, target, choice, storages, len(graph)))
    options = Options(target=target.language.name)
    return pipeline.generate_plan([sized], options, Identity.of_graph(graph.name))


def measure(device: str, target: Target) -> Roofline:
    """Measure the roofline of an attached device, named as in `runtime.load` (DeviceError)."""
    compiled = compile_roofline(target)
    with _loaded(compiled, device) as session:
        inputs = _inputs(session)
        passes = [[time for _, time in session.profile(inputs)] for _ in range(PASSES)]
    # A coarse clock may report 0 for the shortest copies.
    best = np.maximum(np.reshape(passes, (PASSES, -1, REPEATS)).min(axis=(0, 2)), 1e-9)
    arithmetic, *copies = compiled.plan.dispatches[::REPEATS]
    sizes = [bytes_moved(copy) for copy in copies]
    return Roofline(
        arithmetic.flops / float(best[0]),
        tuple((size, size / float(time)) for size, time in zip(sizes, best[1:], strict=True)),
        _dispatch_seconds(device, target),
    )


def _dispatch_seconds(device: str, target: Target) -> float:
    """The time of a dispatch in the fastest run, in which copying the few bytes hardly counts."""
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
    with scratch_folder() as cache:
        path = pipeline.write(compiled, cache)
        with runtime.load(path, device=device, store_binaries=False) as session:
            yield session


def bytes_moved(dispatch: Dispatch) -> int:
    """Bytes that a dispatch moves if it touches each byte of its arguments once."""
    return sum(argument.size for argument in dispatch.arguments)


def _inputs(session: runtime.Session) -> list[Array]:
    """Inputs below 1, so that the multiply-adds stay finite."""
    return [
        np.linspace(0.25, 0.75, prod(info.shape), dtype=np.float32).reshape(info.shape)
        for info in session.inputs
    ]


@dataclass(frozen=True)
class _Stored:
    """The content of such a file."""

    device: str
    date: str
    kernels: str  # A digest of the measured ones.
    roofline: Roofline


@dataclass(frozen=True)
class KeptRoofline:
    """A roofline and where it is stored."""

    roofline: Roofline
    date: str
    file: Path  # The file it is stored in; delete it to measure again.


def folder() -> Path:
    return user_cache_path("tflgpu") / "rooflines"


def roofline_of(info: DeviceInfo, target: Target) -> KeptRoofline:
    """The roofline of an attached device, measured now unless it is stored (DeviceError)."""
    file = folder() / f"{device_key(info)}-{target.device.name}.json"
    compiled = (compile_roofline(target), compile_dispatches(target))
    texts = [text for each in compiled for text in each.sources.values()]
    kernels = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    with suppress(OSError, ValueError):
        found = typed(_Stored, json.loads(file.read_text(encoding="utf-8")))
        if found.kernels == kernels:
            return KeptRoofline(found.roofline, found.date, file)
    found = _Stored(str(info), str(date.today()), kernels, measure(str(info), target))
    # If it cannot be stored, it is measured every time.
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, json.dumps(asdict(found), indent=1).encode())
    return KeptRoofline(found.roofline, found.date, file)
