"""Which storage each tensor has: the choice of kernels that moves the fewest bytes.

A kernel fixes the storage of what it reads and writes. Where a reader wants another storage than
the writer has, a conversion is put between them, a kernel like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from .choose import Candidates
from .devices import Profile
from .ir import Graph, Op, Tensor
from .kernels.packing import storage_bytes
from .ops import OPS, Kernel
from .ops.base import LINEAR, SLICED, Part
from .ops.convert import TO_LINEAR, TO_SLICED

LAUNCH_BYTES = 1 << 15
"""What launching one more kernel costs, in bytes of memory traffic."""

PARTS = frozenset(["CONCATENATION", "SLICE", "SPLIT", "SPLIT_V", "STRIDED_SLICE"])
"""Operators that may launch nothing because their tensors lie within each other."""

Free = frozenset[tuple[Op, str]]
"""Operators with the names of those of their kernels that most likely copy nothing."""

SWEEPS = 8
"""Rounds of improvement after which a choice is good enough."""

Choice = dict[Op, Kernel]


def choose_storage(graph: Graph, suited: Mapping[Op, Candidates], profile: Profile) -> Choice:
    """One kernel for each operator, so that the bytes moved, conversions included, are few.

    Operators with a free choice that touch each other form regions. Each region is tried with all
    its kernels sliced and all linear, improved operator by operator, and the better one is kept.
    """
    choice = {op: options.kernels[0] for op, options in suited.items()}
    nothing = _free(suited, profile)
    free = [op for op, options in suited.items() if len({*map(_storages, options.kernels)}) > 1]
    for region in _regions(graph, free):
        best, best_cost = None, 0.0
        for storage in (SLICED, LINEAR):
            for op in region:
                kernels = suited[op].kernels
                choice[op] = next((k for k in kernels if k.writes == storage), kernels[0])
            _improve(graph, region, suited, choice, profile, nothing)
            cost = sum(_cost(graph, op, choice, profile, nothing) for op in region)
            if best is None or cost < best_cost:
                best, best_cost = {op: choice[op] for op in region}, cost
        choice.update(best or {})
    return choice


def _storages(kernel: Kernel) -> tuple[str, str]:
    return kernel.reads, kernel.writes


def _regions(graph: Graph, free: Iterable[Op]) -> list[list[Op]]:
    """Connected parts of the operators with a choice, in order."""
    left = dict.fromkeys(free)
    regions = []
    while left:
        region, open_ops = [], [next(iter(left))]
        left.pop(open_ops[0])
        while open_ops:
            op = open_ops.pop()
            region.append(op)
            for tensor in (*op.reads, *op.outputs):
                producer = graph.producer(tensor)
                for other in (*graph.consumers(tensor), *([producer] if producer else [])):
                    if other in left:
                        left.pop(other)
                        open_ops.append(other)
        regions.append(region)
    return regions


def _improve(
    graph: Graph,
    region: list[Op],
    suited: Mapping[Op, Candidates],
    choice: Choice,
    profile: Profile,
    nothing: Free,
) -> None:
    for _ in range(SWEEPS):
        changed = False
        for op in region:
            before = choice[op]
            costs = []
            for rank, kernel in enumerate(suited[op].kernels):
                choice[op] = kernel
                costs.append((_cost(graph, op, choice, profile, nothing), rank))
            choice[op] = suited[op].kernels[min(costs)[1]]
            changed |= choice[op] is not before
        if not changed:
            return


def _free(suited: Mapping[Op, Candidates], profile: Profile) -> Free:
    """Views, and kernels that only copy parts to or from where they can lie anyway."""
    found = set()
    for op, options in suited.items():
        for kernel in options.kernels:
            parts = op.name in PARTS and not op.post and kernel.reads == kernel.writes
            if kernel.name.startswith("view") or (
                parts and all(isinstance(launch.part, Part) for launch in kernel.build(op, profile))
            ):
                found.add((op, kernel.name))
    return frozenset(found)


def _cost(graph: Graph, op: Op, choice: Choice, profile: Profile, nothing: Free) -> float:
    """Bytes an operator moves, and those of the conversions around it."""
    kernel = choice[op]
    total = 0.0
    if (op, kernel.name) not in nothing:
        reads = sum(_bytes(t, kernel.reads, profile) for t in op.inputs if t is not None)
        total += reads + sum(_bytes(t, kernel.writes, profile) for t in op.outputs)
    for tensor in dict.fromkeys((*op.reads, *op.outputs)):
        if not tensor.constant:
            have = _written(graph, tensor, choice)
            wanted = _wanted(graph, tensor, choice)
            if wanted - {have} and not _absorbed(graph, tensor, wanted, choice, nothing):
                both = (_bytes(tensor, storage, profile) for storage in (LINEAR, SLICED))
                total += sum(both) + LAUNCH_BYTES
    return total


def _absorbed(
    graph: Graph, tensor: Tensor, wanted: set[str], choice: Choice, nothing: Free
) -> bool:
    """Whether the kernel that computes a tensor writes it row-major itself, for mere views."""
    producer = graph.producer(tensor)
    return (
        producer is not None
        and wanted == {LINEAR}
        and _can_write_rows(producer, choice)
        and all((reader, choice[reader].name) in nothing for reader in graph.consumers(tensor))
    )


def _can_write_rows(producer: Op, choice: Choice) -> bool:
    kernel = choice[producer]
    return kernel.fuses and (kernel.writes, len(producer.outputs)) == (SLICED, 1)


def _bytes(tensor: Tensor, storage: str, profile: Profile) -> int:
    sliced = storage == SLICED and len(tensor.shape) <= 4
    return storage_bytes(tensor.shape, profile if sliced else None)


def _written(graph: Graph, tensor: Tensor, choice: Choice) -> str:
    producer = graph.producer(tensor)
    return choice[producer].writes if producer else LINEAR


def _wanted(graph: Graph, tensor: Tensor, choice: Choice) -> set[str]:
    wanted = {LINEAR} if graph.is_output(tensor) else set()
    for op in graph.consumers(tensor):
        kernel = choice[op]
        if any(tensor is t for t in op.inputs):
            wanted.add(kernel.reads)
        if any(tensor is t for t in op.post_inputs):
            wanted.add(kernel.operands)
    return wanted


def absorb_conversions(graph: Graph, choice: Choice) -> None:
    """Let kernels that compute slice by slice write row-major where that is all readers want.

    A conversion to row-major that alone reads such a kernel's result goes away.
    """
    for op in graph.ops:
        producer = graph.producer(op.operand(0)) if op.name == TO_LINEAR else None
        if producer is None or graph.only_reader(op.operand(0)) is not op:
            continue
        kernel = choice[producer]
        if _can_write_rows(producer, choice):
            name = f"{kernel.name}_to_linear"
            choice[producer] = replace(kernel, name=name, writes=LINEAR, computes=SLICED)
            result = op.output
            result.name = producer.output.name
            graph.remove(op)
            graph.set_outputs(producer, (result,))


def insert_conversions(graph: Graph, choice: Choice, profile: Profile) -> dict[Tensor, str]:
    """Put conversions where a reader wants another storage; returns each tensor's storage."""

    def convert(tensor: Tensor, storage: str, index: int) -> Tensor:
        name = TO_SLICED if storage == SLICED else TO_LINEAR
        converted = Tensor(f"{tensor.name}/{storage}", tensor.shape, tensor.dtype)
        op = graph.add(Op(name, (tensor,), (converted,), index=index))
        choice[op] = next(k for k in OPS[name].kernels if k.when(op, profile) is None)
        return converted

    for tensor in graph.tensors:
        if tensor.constant:
            continue
        have = _written(graph, tensor, choice)
        producer = graph.producer(tensor)
        readers = graph.consumers(tensor)
        converted: Tensor | None = None
        for op in readers:
            kernel = choice[op]
            index = producer.index if producer else -1
            if kernel.reads != have and any(tensor is t for t in op.inputs):
                converted = converted or convert(tensor, kernel.reads, index)
                swapped = [converted if t is tensor else t for t in op.inputs]
                graph.set_inputs(op, swapped)
            if kernel.writes != have and any(tensor is t for t in op.post_inputs):
                converted = converted or convert(tensor, kernel.writes, index)
                posts = [converted if t is tensor else t for t in op.post_inputs]
                graph.set_inputs(op, op.inputs, posts)
        if have != LINEAR and graph.is_output(tensor):
            converted = converted or convert(tensor, LINEAR, producer.index if producer else -1)
            graph.outputs = [converted if t is tensor else t for t in graph.outputs]
    absorb_conversions(graph, choice)
    return {t: _written(graph, t, choice) for t in graph.tensors if not t.constant}
