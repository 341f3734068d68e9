"""Tuning: searches for the fastest tiles and work-groups of a model's kernels on a device.

A kernel is compiled in several sizes into one plan. The sizes run in turns, so that a busy machine
slows all of them alike, and medians are compared. Sizes are tried in batches, in the order of their
estimates, until a batch brings no gain: first tiles, then work-groups for the best tile. Every
result is written to the table at once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from time import perf_counter

import numpy as np

from ... import runtime
from ...runtime.cache.binaries import device_key
from ...runtime.errors import DeviceError
from .. import pipeline
from ..choices import each_choice
from ..devices.attached import attached_device, select_device
from ..emit.compiled_model import CompiledModel
from ..errors import OptionError
from ..frontend.model_file import Identity, Model
from ..ir import FusedOp, Graph, Op, Origin, Tensor, copies
from ..ops import Implementation
from ..ops.base.choose_tile import TileLimits
from ..ops.base.launch import WorkGroup
from ..ops.base.tile import Tile, TileShape
from ..options import Options
from ..rewrites.pass_manager import PassManager
from ..scratch import scratch_folder
from ..select.conversions import Selected, insert_conversions
from ..select.storage import Choice
from ..sizing.sizes import Sizes, Sizing, build_launches, size_operators
from ..sizing.tuning_table import Table, Timing, read_table, signature, write_table
from ..sizing.work_groups import groups_worth_trying
from ..target import Target
from ..telling import Progress, silent
from ..trial_input import trial_input

TABLES = "tuning"  # The folder in a cache with the tables of devices.
BATCH = 8  # Sizes compiled and timed together.
REPEATS = 9  # Runs of a batch, of which the median counts.
# Time relative to the best so far below which a size is considered faster rather than lucky.
GAIN = 0.95


@dataclass(frozen=True)
class _Subject:
    """A kernel to tune, and how it is compiled."""

    op: Op
    implementation: Implementation
    target: Target
    options: Options
    device: str


@dataclass(frozen=True)
class Found:
    label: str  # The operators of the model that the kernel computes.
    timing: Timing | None  # None if there is only one choice of sizes, or none runs.
    done: int  # Kernels searched so far, of `total`.
    total: int
    seconds_left: float  # For the rest, if each takes as long as those before.


def table_path(cache: Path, options: Options) -> Path:
    """The path, in a cache, of the attached device's table (DeviceError if there is no device)."""
    info = select_device(attached_device(options.device), options.target)
    return cache / TABLES / f"{device_key(info)}.json"


def tune(
    model: Model,
    options: Options,
    path: Path,
    progress: Progress = silent,
    tell: Callable[[Found], None] | None = None,
) -> Table:
    """Tune the kernels of a model that the table at `path` lacks, and add them to it.

    `tell` is called after the search for each kernel.

    A search that is interrupted continues from there the next time. Raises what `pipeline.build`
    and `runtime.load` raise, and OptionError if the table cannot be read or written, or is for
    another device.
    """
    info = select_device(attached_device(options.device), options.target)
    table = _table_of(str(info), path)
    target = pipeline.target_of(options)
    subjects: dict[str, _Subject] = {}
    for choice in each_choice(model, options):
        passes = PassManager(target, choice.disable_passes, progress)
        selected = pipeline.select(model, choice, target, passes)
        for op, implementation in selected.choice.items():
            key = signature(op, implementation, target)
            subjects[key] = _Subject(op, implementation, target, choice, str(info))
    # Fail now if the table cannot be written, before the search takes long.
    write_table(table, path)
    start, missing = perf_counter(), [key for key in subjects if key not in table.kernels]
    for number, key in enumerate(missing):
        progress("tune", number, len(missing))
        timing = _search(subjects[key])
        # Another search may have extended the table in the meantime.
        table = _table_of(str(info), path)
        if timing is not None:
            table.kernels[key] = timing
            write_table(table, path)
        if tell is not None:
            each = (perf_counter() - start) / (number + 1)
            left = each * (len(missing) - number - 1)
            label = " + ".join(map(str, subjects[key].op.origins))
            tell(Found(label, timing, number + 1, len(missing), left))
    return table


def _table_of(device: str, path: Path) -> Table:
    """The table in a file, or an empty one if there is no file (OptionError)."""
    table = read_table(path) if path.exists() else Table(device)
    if table.device != device:
        raise OptionError(f"{path} is for {table.device}, not {device}; tune into another file")
    return table


def _search(subject: _Subject) -> Timing | None:
    """The fastest sizes of a kernel; None if there is only one choice, or none runs."""
    tiles = _tiles(subject)
    groups = _groups(subject, tiles[0])
    if len(tiles) == len(groups) == 1:
        return None
    tile = _fastest(subject, [Sizes(tile, ()) for tile in tiles]).tile
    best = _fastest(subject, [Sizes(tile, group) for group in _groups(subject, tile)])
    first = Sizes(tiles[0], groups[0])
    before, *after = _measure(subject, [first] if best == first else [first, best])
    if after and after[0] < before * GAIN:
        return Timing(best, after[0], before)
    if before == inf:
        return None
    # Record it even if nothing is faster, so that the next search skips this kernel.
    return Timing(first, before, before)


def _tiles(subject: _Subject) -> list[TileShape | None]:
    """A kernel's tile shapes: the profile's first, then by estimate; [None] if it has no tile."""
    own = _tile(subject, None)
    # The kernel's limits may differ from the device's, so its own tile need not be among those.
    taken = {own: own.shape} if own is not None else {}
    for shape in TileLimits.of(subject.target).shapes():
        tile = _tile(subject, shape)
        # A kernel replaces a shape that does not fit by its own.
        if tile is not None and tile.pixels == shape[0]:
            taken.setdefault(tile, shape)
    ordered = sorted(taken, key=lambda tile: (tile != own, tile.estimate))
    return [taken[tile] for tile in ordered] or [None]


def _tile(subject: _Subject, shape: TileShape | None) -> Tile | None:
    """The tile a kernel uses if asked for a shape."""
    launches = build_launches(subject.op, subject.implementation, subject.target, shape)
    return next((launch.tile for launch in launches if launch.tile is not None), None)


def _groups(subject: _Subject, tile: TileShape | None) -> list[tuple[WorkGroup, ...]]:
    """Candidate work-groups for the launches of a kernel, the profile's own first."""
    launches = build_launches(subject.op, subject.implementation, subject.target, tile)
    choices = [
        [launch.group] if launch.group else groups_worth_trying(launch, subject.target)
        for launch in launches
    ]
    most = max(map(len, choices), default=1)
    return [tuple(choice[min(n, len(choice) - 1)] for choice in choices) for n in range(most)]


def _fastest(subject: _Subject, sizes: Sequence[Sizes]) -> Sizes:
    """The fastest of the sizes tried before a batch brings no gain.

    The best so far runs again in every batch, to be compared under equal conditions.
    """
    best, rest = sizes[0], sizes[1:]
    while rest:
        batch, rest = [best, *rest[: BATCH - 1]], rest[BATCH - 1 :]
        seconds = _measure(subject, batch)
        fastest = int(np.argmin(seconds))
        if seconds[fastest] > seconds[0] * GAIN:
            break
        best = batch[fastest]
    return best


def _measure(subject: _Subject, sizes: Sequence[Sizes]) -> list[float]:
    """Seconds that a kernel takes in each size; infinite if the device rejects the size."""
    try:
        return _run(subject, sizes)
    except DeviceError:
        if len(sizes) == 1:
            return [inf]
        return [_measure(subject, [size])[0] for size in sizes]


def _run(subject: _Subject, sizes: Sequence[Sizes]) -> list[float]:
    # Forth and back, so that all have the same mean position. An extra run comes first and is not
    # counted, because it finds cold caches and sleeping threads.
    turns = [0, *range(len(sizes)), *reversed(range(len(sizes)))]
    compiled = _compile(subject, [sizes[turn] for turn in turns])
    with scratch_folder() as cache:
        path = pipeline.write(compiled, cache)
        with runtime.load(path, device=subject.device, store_binaries=False) as session:
            inputs = [trial_input(info) for info in session.inputs]
            session.run(inputs)
            passes = [[time for _, time in session.profile(inputs)] for _ in range(REPEATS)]
    times = [0.0] * len(turns)
    for dispatch, time in zip(compiled.plan.dispatches, np.median(passes, axis=0), strict=True):
        for copy in dispatch.operators:
            times[copy] += float(time)
    seconds = [0.0] * len(sizes)
    for turn, time in list(zip(turns, times, strict=True))[1:]:
        seconds[turn] += time / 2
    return seconds


class _FixedSizes(Sizing):
    """Gives each copy of an operator its sizes."""

    def __init__(self, sizes: Mapping[Op, Sizes]) -> None:
        super().__init__()
        self._sizes = sizes

    def __call__(self, op: Op, implementation: Implementation) -> Sizes | None:
        return self._sizes.get(op)


def _compile(subject: _Subject, sizes: Sequence[Sizes]) -> CompiledModel:
    """Compile a copy of an operator per size, with the same inputs; its origin is its number."""
    op, target, options = subject.op, subject.target, subject.options
    graph = Graph("tune")
    inputs: dict[Tensor, Tensor] = {}
    for tensor in op.reads:
        if not tensor.constant and tensor not in inputs:
            name = f"input {len(inputs)}"
            inputs[tensor] = Tensor(name, tensor.shape, tensor.dtype)
            graph.inputs.append(inputs[tensor])
            graph.input_names.append(name)
    wanted: dict[Op, Sizes] = {}
    for number, size in enumerate(sizes):
        wanted[graph.add(_copy(op, inputs, number))] = size
    choice: Choice = dict.fromkeys(wanted, subject.implementation)
    storages = insert_conversions(graph, choice, target)
    selected = Selected(graph, target, choice, storages, len(sizes))
    sized = size_operators(selected, _FixedSizes(wanted))
    return pipeline.generate_plan([sized], options, Identity.of_graph(graph.name))


def _copy(op: Op, inputs: Mapping[Tensor, Tensor], number: int) -> Op:
    """A copy of an operator with other inputs and new outputs, with `number` as its origin."""
    copied, new = copies(op.ops, inputs)
    for inner in copied:
        inner.index, inner.origins = number, (Origin(number, inner.name),)
    outputs = [new[tensor] for tensor in op.outputs]
    for tensor in outputs:
        tensor.name = f"{tensor.name} {number}"
    if not isinstance(op, FusedOp):
        return copied[0]
    core = len(op.core)
    return FusedOp(op.name, copied[:core], copied[core:], outputs)
