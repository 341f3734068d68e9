"""Single quantized operators, lowered to float operators on centered integers."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
from graphs.operators import graph_of

from tflgpu.compiler.devices import profile
from tflgpu.compiler.ir import Array, Graph, Op, Quantization, Tensor
from tflgpu.compiler.ops import OPS
from tflgpu.compiler.rewrites.quantized.lower_quantized import lower_quantized
from tflgpu.compiler.target import Target

EXACT = 1 << 24  # Whole numbers up to this are exact in float32.

LIMITS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}


def quantized(
    name: str,
    values: Any,
    scale: float | Sequence[float] = 1.0,
    zero: int = 0,
    dtype: str = "int8",
    axis: int = 0,
) -> Tensor:
    """A constant of quantized integers; several scales lie along an axis."""
    data = np.asarray(values, dtype)
    return Tensor(name, data.shape, dtype, data, scales_along(axis, scale, zero))


def scales_along(axis: int, scale: float | Sequence[float], zero: int) -> Quantization:
    """One scale, or several along an axis."""
    scales = tuple(float(each) for each in np.atleast_1d(np.asarray(scale, np.float32)))
    return Quantization(scales, (zero,) * len(scales), axis)


def all_integers(scale: float, zero: int, dtype: str = "int8") -> Tensor:
    """Every integer of a type, as the operand of a function."""
    low, high = LIMITS[dtype]
    return quantized("x", np.arange(low, high + 1), scale, zero, dtype)


def computed_at_run_time(tensor: Tensor) -> Tensor:
    """The same tensor as an input of the model."""
    return Tensor(tensor.name, tensor.shape, tensor.dtype, quantization=tensor.quantization)


def lowered(
    operator: str,
    *operands: Tensor | None,
    scale: float | Sequence[float] = 1.0,
    zero: int = 0,
    dtype: str = "int8",
    **attrs: Any,
) -> Graph:
    """What a quantized operator becomes; `scale`, `zero` and `dtype` are those of its result."""
    result = Tensor("y", (), dtype, quantization=scales_along(0, scale, zero))
    op = Op(operator, operands, (result,), attrs)
    result.shape = tuple(int(size) for size in OPS[operator].infer(op)[0])
    graph = graph_of(op)
    lower_quantized(graph, Target(profile("cpu")))
    return graph


def evaluated(operator: str, *operands: Tensor | None, **options: Any) -> Array:
    """The integers that a quantized operator gives for constants.

    Its first operand is an input for the compiler. The lowered operators are computed by their
    references; products with weights, which have none, with 64-bit integers.
    """
    first, *others = operands
    assert first is not None and first.data is not None
    source = computed_at_run_time(first)
    graph = lowered(operator, source, *others, **options)
    values = {source: first.data}
    for op in graph.ops:
        arrays = [values[t] if t.data is None else t.data for t in op.inputs if t is not None]
        definition = OPS[op.name]
        if definition.reference is None:
            definition = replace(definition, reference=PRODUCTS[op.name])
        values |= zip(op.outputs, definition.compute(op, arrays), strict=True)
    return values[graph.outputs[0]]


def _layer(op: Op, *arrays: Array) -> Array:
    rows, weights, *bias = (array.astype(np.int64) for array in arrays)
    return _exact(rows @ weights.T + sum(bias))


def _convolution(op: Op, *arrays: Array) -> Array:
    """Without padding and strides."""
    image, weights, *bias = (array.astype(np.int64) for array in arrays)
    _, rows, columns, _ = op.output.shape
    sums = np.zeros(op.output.shape, np.int64) + sum(bias)
    for y, x in np.ndindex(weights.shape[1:3]):
        sums += image[:, y : y + rows, x : x + columns] @ weights[:, y, x].T
    return _exact(sums)


def _exact(sums: Array) -> Array:
    """Sums, which must be exact in float32 for kernels to add them in any order."""
    assert np.abs(sums).max() <= EXACT
    return sums


PRODUCTS = {"FULLY_CONNECTED": _layer, "CONV_2D": _convolution}


def half_up(value: Fraction) -> int:
    """The nearest integer, halves towards positive infinity."""
    return floor(value + Fraction(1, 2))


def half_away(value: Fraction) -> int:
    """The nearest integer, halves away from zero."""
    return half_up(value) if value >= 0 else -half_up(-value)
