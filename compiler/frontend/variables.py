"""What a model's variables hold before its first run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir import Array, Op, Tensor


def first_contents(tensors: Sequence[Tensor], ops: list[Op]) -> dict[Tensor, Array]:
    """The contents of variables that do not begin with 0; removes from `ops` what only gives them.

    With weights in half precision, TensorFlow's converter has the states of recurrent layers
    dequantized from constants, which LiteRT does once, in the first run.
    """
    contents: dict[Tensor, Array] = {}
    for tensor in tensors:
        if tensor.variable and tensor.dtype == "int8" and tensor.quantization:
            # LiteRT's variables of this type begin with their zero point, others with 0.
            zero = tensor.quantization.zero_point[0]
            contents[tensor] = np.full(tensor.shape, zero, np.int8)
    for op in filter(_begins, tuple(ops)):
        contents[op.output] = op.constant(0).astype(np.float32)
        ops.remove(op)
    return contents


def _begins(op: Op) -> bool:
    if op.name != "DEQUANTIZE" or not op.output.variable:
        return False
    source = op.operand(0)
    return source.constant and source.dtype == "float16" and source.shape == op.output.shape
