"""tflgpu.normalized_product: a fully connected layer of rows that are normalized first.

    y = w x / deviation(x) + b      x [..., K]    w [outputs, K]    b [outputs] or left out

The deviation is the root of the mean square of a row plus `epsilon`, less the row's mean if
`centered`. Kernels multiply rows as they are and scale the sums: if `centered`, the weights of each
output add up to 0, so that the mean of a row contributes nothing.

Inputs 3 and 4, if present, are gain and offset of a second output: the normalized rows themselves,
x normalized * gain + offset, for others that read them.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...errors import ModelError
from ...ir import Array, Op, Shape
from ...target import Target
from ..base.definition import TiledImplementation, define
from ..base.launch import Launch
from ..base.storage import slice_count
from ..base.tile import TileShape
from ..layers.weights import bias_slices
from . import fully_connected

NAME = "tflgpu.normalized_product"
# Elements of rows, once for each slice of outputs, that work-items of a GPU may read again. They
# come from caches at some 25 GB/s on a phone, where a launch takes some 30 us; reckoned, and on an
# NVIDIA H100 without effect on a run. Work-items of processors compute more outputs of a row each.
MOST_READ_AGAIN = 1 << 18


def _infer(op: Op) -> list[Shape]:
    rows = [op.operand(0).shape] if op.input(3) is not None else []
    if len(op.outputs) != 1 + len(rows):
        raise ModelError(f"operator {op!r} has {len(op.outputs)} outputs, not {1 + len(rows)}")
    return [*fully_connected.infer(op), *rows]


def _reference(op: Op, *arrays: Array) -> Sequence[Array]:
    x, weights = (array.astype(np.float64) for array in arrays[:2])
    biased = op.input(2) is not None
    centered = x - x.mean(-1, keepdims=True) if op.attrs["centered"] else x
    root = np.sqrt(np.square(centered).mean(-1, keepdims=True) + op.attrs["epsilon"])
    sums = x @ weights.T / root + (arrays[2] if biased else 0)
    rows = [centered / root * arrays[-2] + arrays[-1]] if op.input(3) is not None else []
    return [sums, *rows]


def unsuited(op: Op, target: Target) -> str | None:
    """Why a layer cannot normalize its rows, or is faster if another kernel does."""
    if target.half_arithmetic:
        return "halves may not hold sums of rows that are not normalized"
    return (
        fully_connected.in_rows(op, target)
        or fully_connected.shares_sums(op, target)
        or read_again(op, target)
    )


def read_again(op: Op, target: Target, layers: int = 1) -> str | None:
    """Why work-items should not normalize the rows of several layers alike, if they should not."""
    outputs = slice_count(layers * op.operand(1).shape[0], target)
    if not target.on_processor and op.operand(0).elements * outputs > MOST_READ_AGAIN:
        return "reading the rows once more for each output takes longer than another kernel"
    return None


def _build(op: Op, target: Target, wanted: TileShape | None) -> Launch:
    launch = fully_connected.build(op, target, wanted)
    variables = {name: op.attrs[name] for name in ("centered", "epsilon")}
    writes, constants = dict(launch.writes), dict(launch.constants)
    if op.input(3) is not None:
        writes["normalized"] = op.outputs[-1]
        for role, position in (("gain", 3), ("offset", 4)):
            constants[role] = bias_slices(op, op.operand(0).shape[-1], target, 1, position)
    passes = 3 if op.attrs["centered"] else 2
    return replace(
        launch,
        template="conv/normalized_product.jinja",
        writes=writes,
        constants=constants,
        variables={**launch.variables, **variables},
        flops=launch.flops + passes * op.operand(0).elements,
    )


define(
    NAME,
    _infer,
    (TiledImplementation("normalized_product", _build, fully_connected.in_rows),),
    _reference,
)
