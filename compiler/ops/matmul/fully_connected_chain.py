"""tflgpu.fully_connected_chain: consecutive fully connected layers on a single vector.

The core of the fused operator is, in order: optionally a MEAN over an image's pixels; then layers,
FULLY_CONNECTED or 1x1 CONV_2D of a single pixel, each but the last with at most one activation.
RESHAPEs may stand between them. One work-group computes everything and keeps in local memory the
vectors between the layers, and the one that the first reads unless local memory is cleared before.

The weights are packed in the order in which the kernel reads them:
[layer][block of output slices][input][slice of the block][lane].
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...ir import Array, Op
from ...target import Target
from ..base.definition import Implementation, define
from ..base.launch import Launch
from ..base.parts import largest_divisor, power_of_two
from ..base.shapes import as_inferred
from ..base.storage import LINEAR, bhwc, slice_count
from ..elementwise.elementwise import ELEMENTWISE
from ..layers.weights import layer_constants
from ..reduce.lines import group_size, seats

NAME = "tflgpu.fully_connected_chain"

# Output slices that a work-item computes at a time, if there are enough for every work-item.
BLOCK = 4

MAX_PARTS = 32  # Most work-items that share the sums of a slice, which one of them adds up.
SHARED_INPUTS = 8  # Fewest inputs for each of several work-items that share the sums of a slice.
PIXELS = 8  # Fewest pixels that a work-item sums when several share a mean.


@dataclass(frozen=True)
class Layer:
    inputs: int
    slices: int
    block: int  # Output slices that a work-item computes at a time.
    blocks: int  # Blocks of that many slices.
    # Start of its input in local memory, in floats; unused if the first layer's is not kept.
    source: int
    destination: int  # Start of its output in local memory, in floats; unused by the last layer.
    parts: int  # Work-items that share the sums of a block, which is one slice then.
    seats: int  # How many of them keep what they have in local memory at a time.
    weights: int  # Start of its weights, in slices.
    bias: int  # Start of its bias, in slices.
    # Elementwise operators on its output; the last layer's are in the epilogue instead.
    activation: tuple[Op, ...]


def layers_of(op: Op) -> list[Op]:
    """The layers of a chain; for a single layer, that layer."""
    return [inner for inner in op.core if inner.name in ("CONV_2D", "FULLY_CONNECTED")]


def layer_shapes(op: Op) -> list[tuple[int, int]]:
    """(outputs, inputs) of each layer."""
    weights = [layer.operand(1) for layer in layers_of(op)]
    return [(tensor.shape[0], tensor.elements // tensor.shape[0]) for tensor in weights]


def held(op: Op, target: Target) -> int:
    """Floats of local memory for every layer's input vector that is kept."""
    shapes = layer_shapes(op)
    kept = shapes if _keeps_input(op, target) else shapes[1:]
    return sum(slice_count(inputs, target) * target.lanes for _, inputs in kept)


def _keeps_input(op: Op, target: Target) -> bool:
    """Whether the vector that the first layer reads is kept; otherwise each reads its elements."""
    return _averages(op) or not target.language.clears_local_memory


def _averages(op: Op) -> bool:
    """Whether the chain starts with a MEAN over an image's pixels."""
    return op.core[0].name == "MEAN"


def _activations(op: Op) -> list[tuple[Op, ...]]:
    found: list[tuple[Op, ...]] = []
    for inner in op.core:
        if inner in layers_of(op):
            found.append(())
        elif inner.name in ELEMENTWISE:
            found[-1] += (inner,)
    return found


def _layers(op: Op, items: int, target: Target) -> list[Layer]:
    found = []
    source = weights_at = bias_at = 0
    room = (target.device.local_memory // 4 - held(op, target)) // target.lanes
    kept = _keeps_input(op, target)
    for (outputs, inputs), following in zip(layer_shapes(op), _activations(op), strict=True):
        count = slice_count(outputs, target)
        block = max(1, min(BLOCK, count // items))
        blocks = -(-count // block)
        destination = source + slice_count(inputs, target) * target.lanes * kept
        parts = _parts(inputs, blocks, min(items, room))
        at_once = min(parts, power_of_two(seats(blocks * parts, target) // blocks))
        places = (source, destination, parts, at_once, weights_at, bias_at)
        found.append(Layer(inputs, count, block, blocks, *places, following))
        source, kept = destination, True
        weights_at += blocks * block * inputs
        bias_at += blocks * block
    return found


def _useful(outputs: int, inputs: int, target: Target) -> int:
    """The work-items that a layer gives something to do."""
    shared = slice_count(outputs, target) * min(inputs // SHARED_INPUTS, MAX_PARTS)
    return max(slice_count(outputs, target), slice_count(inputs, target), shared)


def _parts(inputs: int, blocks: int, items: int) -> int:
    """A power of two of work-items for each block, so that few of them are idle."""
    most = min(items // blocks, inputs // SHARED_INPUTS, MAX_PARTS)
    return power_of_two(most)


def _seat_rows(rows: int, slices: int, target: Target) -> int:
    """How many rows of a mean are kept in local memory at a time, a divisor of all; 0 of none."""
    most = max(seats(rows * slices, target) // slices, 1)
    return largest_divisor(rows, most) if rows else 0


def _packed(op: Op, layers: Sequence[Layer], target: Target) -> dict[str, Array]:
    """The biases of all layers, one after the other, and their weights."""
    found = []
    for inner, layer in zip(layers_of(op), layers, strict=True):
        weights = inner.constant(1).reshape(inner.operand(1).shape[0], 1, 1, -1)
        found.append(layer_constants(inner, weights, layer.block, target))
    return {role: np.concatenate([each[role] for each in found]) for role in ("bias", "weights")}


def _fits(op: Op, target: Target) -> str | None:
    if 4 * held(op, target) > target.device.local_memory:
        return f"its vectors need more than {target.device.local_memory} bytes of local memory"
    return None


def _of_a_vector(op: Op, target: Target) -> str | None:
    return "it reads an image" if _averages(op) else _fits(op, target)


def _build(op: Op, target: Target) -> Launch:
    _, height, width, channels = bhwc(op.operand(0).shape)
    averaged = height * width if _averages(op) else 0
    count = slice_count(channels, target)
    widest = max(_useful(*shape, target) for shape in layer_shapes(op))
    items = group_size(max(widest, averaged * count // PIXELS), target)
    rows = min(items // count, averaged // PIXELS)
    seat_rows = _seat_rows(rows, count, target)
    layers = _layers(op, items, target)
    vectors = held(op, target)
    shared = max((item.blocks * item.seats for item in layers if item.parts > 1), default=0)
    products = sum(outputs * inputs for outputs, inputs in layer_shapes(op))
    return Launch.of(
        op,
        "matmul/fully_connected_chain.jinja",
        (items, 1, 1),
        constants=_packed(op, layers, target),
        variables={
            "layers": layers,
            "held": max(vectors + shared * target.lanes, seat_rows * count * target.lanes),
            "shared_at": vectors,
            "mean": _averages(op),
            "keeps_input": _keeps_input(op, target),
            "rows": rows,
            "seat_rows": seat_rows,
            "group_items": items,
        },
        group=(items, 1, 1),
        flatten=True,
        flops=2 * products + averaged * channels,
    )


IMPLEMENTATIONS = (
    Implementation("fully_connected_chain", _build, _fits),
    Implementation("fully_connected_chain_from_linear", _build, _of_a_vector, reads=LINEAR),
)

define(NAME, as_inferred, IMPLEMENTATIONS)
