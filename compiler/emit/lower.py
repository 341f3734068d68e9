"""From operators with chosen kernels to a plan: sources, dispatches, and where every byte lies."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ...runtime.plan.records import (
    Argument,
    Dispatch,
    Kernel,
    Memory,
    Persistent,
    PlacedTensor,
    Region,
    TensorInfo,
    Variable,
)
from ..codegen.persistent import merge
from ..codegen.render import render
from ..codegen.source_files import Launched, sources_of, title
from ..devices import Profile
from ..events import Event
from ..ir import Array, Graph, Op, Tensor
from ..memory.aliases import Sharing, variables
from ..memory.arrange import Arranged, arrange
from ..memory.lifetimes import Spans, Step, lifetimes
from ..memory.offsets import Interval, Layout, plan_memory
from ..ops import Kernel as Variant
from ..ops.base import SLICED, Runs
from ..ops.litert_part import LITERT, host_only, is_open
from ..ops.packing import device_array, pack_slices, storage_bytes
from ..schedule.sizes import sized_launches
from ..schedule.tuning_table import Sizing, unsized
from ..select.storage import Choice
from .parts import HostParts, host_parts


@dataclass
class Lowered:
    """The parts of a plan that come from the graph."""

    kernels: tuple[Kernel, ...]
    sources: dict[str, str]
    """Kernel text by file name."""
    weights: bytes
    dispatches: tuple[Dispatch, ...]
    tensors: tuple[PlacedTensor, ...]
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    arena_size: int
    memory: Memory
    variables: tuple[Variable, ...]
    host: HostParts
    events: tuple[Event, ...]
    """Copies saved by letting tensors share memory, and those that could not be."""
    persistent: tuple[Persistent, ...]


@dataclass
class _Weights:
    """The contents of weights.bin: equal arrays are kept once, each at an aligned offset."""

    alignment: int
    data: bytearray = field(default_factory=bytearray)
    places: dict[bytes, tuple[int, int]] = field(default_factory=dict)

    def add(self, array: Array) -> Argument:
        content = np.ascontiguousarray(array).tobytes()
        key = hashlib.sha256(content).digest()
        if key not in self.places:
            self.data += bytes(-len(self.data) % self.alignment)
            self.places[key] = (len(self.data), len(content))
            self.data += content
        return Argument(Region.WEIGHTS, 0, *self.places[key], writes=False)


def arranged(
    graph: Graph,
    choice: Choice,
    storages: Mapping[Tensor, str],
    profile: Profile,
    sizing: Sizing = unsized,
    share_memory: bool = True,
) -> Arranged:
    """Launches in the order they run in, and tensors within others where that saves copies."""
    plan = [_step(op, choice[op], profile, sizing) for op in graph.ops]
    granules = _granules(storages, profile)
    return arrange(graph, plan, _sizes(storages, profile), granules, profile, share_memory)


def lower(
    graph: Graph,
    choice: Choice,
    storages: Mapping[Tensor, str],
    profile: Profile,
    dialect: str,
    sizing: Sizing = unsized,
    share_memory: bool = True,
    progress: Callable[[], None] = lambda: None,
) -> Lowered:
    """Render every launch and lay out the memory."""
    ready = arranged(graph, choice, storages, profile, sizing, share_memory)
    sharing, sizes = ready.sharing, _sizes(storages, profile)
    places = _places(storages, sharing, profile.alignment)
    launched: list[Launched] = []
    numbers: dict[str, int] = {}
    on_host: dict[Op, int] = {}
    for step in ready.plan:
        if step.op.name == LITERT:
            on_host[step.op] = len(launched)
        for launch in step.launches if step.op not in on_host else ():
            rendered = render(step.op, launch, step.kernel, profile, dialect, places)
            number = numbers.setdefault(rendered.source, len(numbers))
            launched.append(Launched(step.op, rendered, number))
        progress()
    spans = lifetimes(graph, ready.plan, sharing)
    arena = [root for root in spans if sharing.region(root)[0] == Region.ARENA]
    intervals = [Interval(sharing.size(root), *spans[root]) for root in arena]
    layout = plan_memory(intervals, profile.alignment, share_memory)
    offsets = dict(zip(arena, layout.offsets, strict=True))

    def lies(tensor: Tensor, writes: bool) -> Argument:
        root, runs = sharing.locate(tensor)
        offset = offsets.get(root, 0) + runs.start
        return Argument(*sharing.region(root), offset, runs.span(sizes[tensor]), writes)

    def place(tensor: Tensor, writes: bool) -> Argument:
        inside = places[tensor].start if tensor in places else 0
        where = lies(tensor, writes)
        return replace(where, offset=where.offset - inside, size=where.size + inside)

    on_device = {t: s for t, s in storages.items() if not (on_host and host_only(graph, t))}
    weights = _Weights(profile.alignment)
    dispatches = tuple(_dispatch(item, choice, profile, place, weights) for item in launched)
    kept = tuple(_variable(graph, tensor, weights) for tensor in variables(graph))
    kernels, sources = sources_of(launched, dialect)
    merged = []
    if dialect == "opencl":
        stops = frozenset(on_host.values())
        merged = merge(launched, dispatches, kernels, stops, profile)
        sources |= {item.kernel.file: item.source for item in merged}
    return Lowered(
        (*kernels, *(item.kernel for item in merged)),
        sources,
        bytes(weights.data),
        dispatches,
        tuple(_placed(on_device, profile, lies, spans, sharing)),
        tuple(map(_info, graph.inputs, graph.input_names)),
        tuple(
            _output(graph, *output)
            for output in zip(graph.outputs, graph.output_names, strict=True)
        ),
        layout.total,
        _figures(layout),
        kept,
        host_parts(graph, on_host, lies),
        ready.events,
        tuple(item.record for item in merged),
    )


def _step(op: Op, kernel: Variant, profile: Profile, sizing: Sizing) -> Step:
    return Step(op, kernel, sized_launches(op, kernel, profile, sizing(op, kernel)))


def _places(storages: Mapping[Tensor, str], sharing: Sharing, alignment: int) -> dict[Tensor, Runs]:
    """Where tensors that lie within others do so, from an aligned address in front of them on."""
    located = ((tensor, sharing.locate(tensor)[1]) for tensor in storages)
    return {
        tensor: replace(runs, start=runs.start % alignment)
        for tensor, runs in located
        if runs.start % alignment or not runs.dense
    }


def _figures(layout: Layout) -> Memory:
    return Memory(layout.naive, layout.total, layout.lower_bound)


def _variable(graph: Graph, tensor: Tensor, weights: _Weights) -> Variable:
    content = graph.contents.get(tensor)
    place = None if content is None else weights.add(device_array(content)).offset
    return Variable(tensor.name, storage_bytes(tensor.shape, None), place)


def _info(tensor: Tensor, name: str) -> TensorInfo:
    quantization = tensor.quantization
    scale = quantization.scale[0] if quantization and quantization.scale else 0.0
    zero = quantization.zero_point[0] if quantization and quantization.zero_point else 0
    return TensorInfo(name, tensor.shape, tensor.dtype, scale, zero)


def _output(graph: Graph, tensor: Tensor, name: str) -> TensorInfo:
    producer = graph.producer(tensor)
    return replace(_info(tensor, name), dynamic=producer is not None and is_open(producer, tensor))


def _granules(storages: Mapping[Tensor, str], profile: Profile) -> dict[Tensor, int]:
    """What the start of each tensor must be a multiple of: bytes of a slice, or of an element."""
    slice_bytes = profile.slice_width * profile.lane_bytes
    return {tensor: slice_bytes if s == SLICED else 4 for tensor, s in storages.items()}


def _sizes(storages: Mapping[Tensor, str], profile: Profile) -> dict[Tensor, int]:
    return {
        tensor: storage_bytes(tensor.shape, profile if storage == SLICED else None)
        for tensor, storage in storages.items()
    }


def _dispatch(
    item: Launched,
    choice: Choice,
    profile: Profile,
    place: Callable[[Tensor, bool], Argument],
    weights: _Weights,
) -> Dispatch:
    arguments = []
    for (tensor, writes), texel in zip(item.rendered.arguments, item.rendered.texels, strict=True):
        if tensor is None:
            assert item.rendered.constants is not None
            argument = weights.add(item.rendered.constants)
        elif tensor.data is not None:
            if choice[item.op].reads == SLICED:
                data = pack_slices(tensor.data, profile.slice_width)
                data = data.astype(np.float16) if profile.half else data
            else:
                data = device_array(tensor.data)
            argument = weights.add(data)
        else:
            argument = place(tensor, writes)
        arguments.append(replace(argument, texel=texel))
    written = next(t for t, writes in item.rendered.arguments if writes and t is not None)
    return Dispatch(
        item.kernel,
        item.rendered.grid,
        tuple(arguments),
        f"{title(item.op)} -> {written.name.split(';')[0]}",
        tuple(dict.fromkeys(_positions(item.op))),
        item.rendered.flops,
        item.rendered.why,
    )


def _positions(op: Op) -> Iterator[int]:
    """Where in the model file the operators are that a kernel computes."""
    for held in op.attrs.values():
        if isinstance(held, Op):
            yield from _positions(held)
    yield op.index
    yield from (post.index for post in op.post)


def _placed(
    storages: Mapping[Tensor, str],
    profile: Profile,
    lies: Callable[[Tensor, bool], Argument],
    spans: Spans,
    sharing: Sharing,
) -> list[PlacedTensor]:
    placed = []
    for tensor, storage in storages.items():
        root, runs = sharing.locate(tensor)
        if not runs.dense:
            continue  # no one stretch of bytes is this tensor
        first, last = spans.get(root, (-1, -1))
        where = lies(tensor, False)
        placed.append(
            PlacedTensor(
                tensor.name,
                tensor.shape,
                tensor.dtype,
                profile.slice_width if storage == SLICED else 0,
                where.region,
                where.index,
                where.offset,
                where.size,
                first,
                last,
                profile.half and storage == SLICED,
            )
        )
    return placed
