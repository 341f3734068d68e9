"""Operators that LiteRT computes on real numbers, whatever their operands are quantized to."""

from __future__ import annotations

from ...ir import Tensor
from .lowering import INTEGERS, Lowering, lowers


def real(lowering: Lowering, tensor: Tensor) -> Tensor:
    """An operand as the real numbers that it stands for."""
    if tensor.dtype not in INTEGERS or tensor.quantization is None:
        return tensor
    return lowering.add(
        "tflgpu.dequantize", lowering.centered(tensor), scale=float(lowering.scale(tensor))
    )


@lowers("TFLite_Detection_PostProcess")
def of_real_numbers(lowering: Lowering) -> None:
    """The same operator on real numbers; its results are floats."""
    op = lowering.op
    operands = [None if tensor is None else real(lowering, tensor) for tensor in op.inputs]
    lowering.finish(*lowering.several(op.name, operands, [t.dtype for t in op.outputs], **op.attrs))
