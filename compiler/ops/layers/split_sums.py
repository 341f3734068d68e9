"""Matrix-vector products in which several work-items share each sum.

With one work-item per output slice, a single vector would leave a GPU idle. Instead the work-items
of a group split the inputs among themselves and add up their partial sums, as LiteRT's GPU delegate
does for fully connected layers (tasks/fully_connected.cc), one after another where local memory is
cleared first. The order of summation therefore differs from XNNPACK's.
"""

from math import prod

import numpy as np

from ...ir import Array, Op
from ...target import Target
from ..base.choose_tile import common_slices
from ..base.cost import IN_ROWS
from ..base.launch import Launch
from ..base.storage import pack_slices, slice_count
from ..base.tile import Area
from ..reduce.lines import A_BARRIER
from .weights import PackedWeights, ohwi, sharing

PARTS = 4  # Fewest work-items that share the sums of one output slice.
MIN_INPUTS = 64  # Fewest inputs for which sharing outweighs the barrier.
MIN_SHARE = 16  # Fewest inputs for each of more work-items than that.
NEIGHBOURS = 2  # Fewest output slices of a group, whose weights lie next to each other.


def splits(op: Op, target: Target) -> str | None:
    """Why splitting the sums of a product with weights does not pay; None if it does."""
    if prod(op.output.shape) != op.output.shape[-1]:
        return "it computes more than one vector"
    return splits_alone(op, target)


def splits_alone(op: Op, target: Target) -> str | None:
    """Why splitting the sums would not pay if there were a single row; None if it would."""
    if target.device.heavy_group < PARTS:
        return "the device's work-groups are too small to share sums"
    if op.operand(0).shape[-1] < MIN_INPUTS:
        return f"it has fewer than {MIN_INPUTS} inputs"
    return None


def _parts(slices: int, inputs: int, target: Target) -> int:
    """How many work-items share the sums of a slice: more until they keep the device busy.

    Where they take turns to join their sums, each adds up more slices than it waits for others.
    """
    parts, steps = PARTS, slice_count(inputs, target)
    in_turns = target.language.clears_local_memory
    while (
        slices * parts < target.device.work_items
        and target.device.heavy_group // (2 * parts) >= NEIGHBOURS
        and inputs // (2 * parts) >= MIN_SHARE
        and not (in_turns and steps // (2 * parts) < A_BARRIER * 2 * parts)
    ):
        parts *= 2
    return parts


def _shared_slices(op: Op, target: Target) -> int:
    """The slices of a block of weights that layers of more rows read, too; 0 if none do."""
    target = sharing(op, target)
    if not target.shares_weights or op.operand(1).shape[-1] % target.lanes:
        return 0
    return common_slices(Area.of(op, target, True), target, IN_ROWS)


def split_sums(op: Op, target: Target, bias: Array, weights: Array) -> Launch:
    """The launch for operand 0 times `weights` [outputs, inputs] plus `bias` [slice][lane]."""
    outputs, inputs = weights.shape
    count, steps = slice_count(outputs, target), slice_count(inputs, target)
    parts, shared = _parts(count, inputs, target), _shared_slices(op, target)
    group = (target.device.heavy_group // parts, parts, 1)
    return Launch.of(
        op,
        "matmul/split_sums.jinja",
        (-(-count // group[0]) * group[0], parts, 1),
        constants={
            "bias": bias,
            "weights": PackedWeights(ohwi(weights), shared, target.lanes)
            if shared
            else _by_steps(weights, target.lanes),
        },
        variables={
            "parts": parts,
            "inputs": inputs,
            "steps": steps,
            "shared": shared,
            "in_turns": target.language.clears_local_memory,
        },
        group=group,
        pairs=not shared,
        heavy=True,
        flops=2 * outputs * inputs,
    )


def _by_steps(weights: Array, lanes: int) -> Array:
    """Weights [outputs, inputs] as [step][slice][lane of inputs][lane], where a step is a slice of
    inputs, so that what a work-item reads in a step lies in one place."""
    outputs, inputs = weights.shape
    padded = np.pad(weights.T, ((0, -inputs % lanes), (0, 0)))
    return pack_slices(padded.reshape(-1, 1, lanes, outputs), lanes)
