"""tflgpu.fully_connected_blocks: rows times weights whose blocks of inputs have a scale each.

    y = tflgpu.fully_connected_blocks(x, w, scales)    w[outputs, inputs], scales[outputs, blocks]

The weights are whole numbers, so that they stay packed; kernels multiply them by the scales.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir import Array, Op
from ..target import Target
from . import fully_connected
from .base import LINEAR, Implementation, TiledImplementation, define

NAME = "tflgpu.fully_connected_blocks"


def _reference(op: Op, arrays: Sequence[Array]) -> Sequence[Array]:
    x, weights, scales = arrays
    each = np.repeat(scales, weights.shape[1] // scales.shape[1], 1)
    return [np.asarray(x @ (weights * each).T, np.float32)]


def _whole_slices(op: Op, target: Target) -> str | None:
    weights, scales = op.operand(1), op.operand(3)
    if weights.shape[1] // scales.shape[1] % target.lanes:
        return f"its blocks are not whole slices of {target.lanes} channels"
    return None


def _tiled(op: Op, target: Target) -> str | None:
    return _whole_slices(op, target) or fully_connected.in_rows(op, target)


def _split(op: Op, target: Target) -> str | None:
    return _whole_slices(op, target) or fully_connected.of_a_vector(op, target)


define(
    NAME,
    fully_connected.infer,
    (
        Implementation("split_sums", fully_connected.build_split, _split),
        Implementation("split_sums_from_linear", fully_connected.build_split, _split, reads=LINEAR),
        TiledImplementation("conv_1x1", fully_connected.build, _tiled),
        TiledImplementation("conv_1x1_from_linear", fully_connected.build, _tiled, reads=LINEAR),
    ),
    _reference,
)
