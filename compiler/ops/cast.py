"""CAST, BITCAST between 32-bit types, and tflgpu.keep, which copies a value into a variable."""

from typing import Any

import numpy as np

from ..ir import Array, Op, Shape
from ..target import Target
from .base.definition import define, row_major
from .base.launch import Launch, linear_launch
from .base.shapes import same_as_first
from .base.traits import Traits
from .base.types import ANY, kernel_dtype
from .elementwise import Formula

KEEP = "tflgpu.keep"

_NARROW: dict[str, Formula] = {
    "int8": lambda f, v: v << 24 >> 24,
    "int16": lambda f, v: v << 16 >> 16,
    "uint8": lambda f, v: f.bit_and(v, 255),
    "uint16": lambda f, v: f.bit_and(v, 65535),
}
"""Truncation of an int32 to a narrower type, which is held as int32 on the device."""


def _same(f: Any, v: Any) -> Any:
    return v


def _to_half(f: Any, v: Any) -> Any:
    """The nearest number of float16, of two the even one: infinity from 65520 on; NaN stays.

    Fractions have 10 bits. Below 2^-14 numbers are multiples of 2^-24, as floats around 0.75 are.
    """
    bits, size = f.bits_to_int(v), f.max(v, -v)
    normal = f.bits_to_float(f.bit_and(bits + 4095 + f.bit_and(bits >> 13, 1), -8192))
    small = f.rounded(v + 0.75) - 0.75
    beyond = f.if_positive(size - 65504.0, v * 3e38, v)
    finite = f.if_positive(size - 2.0**-14, normal, small)
    return f.if_positive(65520.0 - size, finite, beyond)


def _conversion(source: str, target: str) -> Formula:
    """The formula of a cast: fractions are truncated, narrow integers wrap.

    Floats beyond the range of a narrow integer become its least or greatest one, and NaN that.
    """
    floating = kernel_dtype(source) == "float32"
    if target == "float16" and source != target:
        return _to_half if floating else lambda f, v: _to_half(f, f.to_float(v))
    if kernel_dtype(target) == "float32":
        return _same if floating else lambda f, v: f.to_float(v)
    if target == "bool":
        zero = 0.0 if floating else 0
        return lambda f, v: f.to_int(f.differs(v, zero))
    if floating and target in _NARROW:
        low, high = float(np.iinfo(target).min), float(np.iinfo(target).max)
        return lambda f, v: f.to_int(f.clamp(f.nan_to(v, high), low, high))
    narrowed = _NARROW.get(target, _same) if source != target else _same
    return lambda f, v: narrowed(f, f.to_int(v) if floating else v)


def _launch(op: Op, conversion: Formula) -> Launch:
    return linear_launch(op, "elementwise/convert.jinja", variables={"conversion": conversion})


def _cast(op: Op, target: Target) -> Launch:
    return _launch(op, _conversion(op.operand(0).dtype, op.core[-1].output.dtype))


def _reference(op: Op, values: Array) -> Array:
    dtype = op.output.dtype
    if values.dtype.kind == "f" and dtype in _NARROW:
        limits = np.iinfo(dtype)
        values = np.clip(np.nan_to_num(values, nan=limits.max), limits.min, limits.max)
    return values.astype(dtype)


def _infer_bits(op: Op) -> list[Shape]:
    sizes = [np.dtype(tensor.dtype).itemsize for tensor in (op.operand(0), op.output)]
    if sizes[0] != sizes[1]:
        raise op.invalid(
            f"{op.operand(0).dtype} and {op.output.dtype} differ in size; only types of the same "
            f"size are supported"
        )
    return [op.operand(0).shape]


def _bits(op: Op, target: Target) -> Launch:
    before, after = (kernel_dtype(tensor.dtype) for tensor in (op.operand(0), op.output))
    if before == after:
        return _launch(op, _same)
    if after == "float32":
        return _launch(op, lambda f, v: f.bits_to_float(v))
    return _launch(op, lambda f, v: f.bits_to_int(v))


define(
    KEEP,
    same_as_first,
    (row_major("convert", lambda op, _: _launch(op, _same), fuses=False),),
    None,
    ANY,
)
define(
    "CAST x -> y",
    same_as_first,
    (row_major("convert", _cast),),
    _reference,
    ANY,
    note="floats beyond the range of integers of 32 bits give any number",
    versions=9,
    traits=Traits(lambda op: op.operand(0).dtype == op.output.dtype, converts=True),
)
define(
    "BITCAST x -> y",
    _infer_bits,
    (row_major("convert", _bits),),
    lambda op, x: np.ascontiguousarray(x).view(op.output.dtype),
    ("float32", "int32", "uint32"),
)
