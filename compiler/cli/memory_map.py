"""The memory map: a drawing of the bytes each tensor occupies in the arena, over time."""

from __future__ import annotations

from dataclasses import dataclass

from rich.filesize import decimal

from ...runtime.plan.records import PlacedTensor, Plan, Region

WIDTH, HEIGHT = 960.0, 380.0
"""Size of the drawing area, in SVG units."""
TICKS = 8
"""Most marks on an axis."""
GOLDEN_ANGLE = 137.5
"""Degrees between the hues of consecutive tensors, which keeps nearby ones distinct."""


@dataclass(frozen=True)
class Box:
    """A tensor: time from left to right, addresses from bottom to top."""

    x: float
    y: float
    width: float
    height: float
    hue: float
    title: str


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    at: float
    text: str


@dataclass(frozen=True)
class MemoryMap:
    """The memory map as the report draws it, in SVG units."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    times: tuple[Tick, ...]
    addresses: tuple[Tick, ...]


def memory_map(plan: Plan) -> MemoryMap | None:
    """The map of a plan's arena; None if it is empty."""
    tensors = [tensor for tensor in plan.tensors if tensor.region is Region.ARENA and tensor.size]
    count = len(plan.dispatches)
    if not tensors or not plan.arena_size or not count:
        return None
    across, up = WIDTH / count, HEIGHT / plan.arena_size
    ordered = sorted(tensors, key=lambda tensor: (tensor.first, tensor.offset))
    boxes = (_box(tensor, number, across, up, count) for number, tensor in enumerate(ordered))
    step = max(-(-count // TICKS), 1)
    times = (Tick((index + 0.5) * across, str(index)) for index in range(0, count, step))
    addresses = (
        Tick(HEIGHT * (1 - part / TICKS), decimal(plan.arena_size * part // TICKS))
        for part in range(0, TICKS + 1, 2)
    )
    return MemoryMap(WIDTH, HEIGHT, tuple(boxes), tuple(times), tuple(addresses))


def _box(tensor: PlacedTensor, number: int, across: float, up: float, count: int) -> Box:
    first = max(tensor.first, 0)
    last = max(min(tensor.last, count - 1), first)
    end = tensor.offset + tensor.size
    return Box(
        x=round(first * across, 2),
        y=round(HEIGHT - end * up, 2),
        width=round((last - first + 1) * across, 2),
        height=round(max(tensor.size * up, 0.5), 2),
        hue=round(number * GOLDEN_ANGLE % 360, 1),
        title=f"{tensor.name} {list(tensor.shape)}\n{decimal(tensor.size)}, bytes "
        f"{tensor.offset:,} to {end:,}\nwritten by dispatch {tensor.first}, "
        f"last read by {tensor.last}",
    )
