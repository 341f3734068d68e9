"""CAST, BITCAST between 32-bit types, and tflgpu.keep, which copies a value into a variable."""

from typing import Any

import numpy as np

from ....runtime.plan.storage import device_dtype
from ...ir import Array, Op, Shape
from ...target import Target
from ..base.definition import define, row_major
from ..base.launch import Launch, linear_launch
from ..base.shapes import same_as_first
from ..base.storage import ANY, kernel_dtype
from ..base.traits import Traits
from .elementwise import Formula

KEEP = "tflgpu.keep"

# Truncation of an int32 to a narrower type, which is held as int32 on the device.
_NARROW: dict[str, Formula] = {
    "int8": lambda f, v: v << 24 >> 24,
    "int16": lambda f, v: v << 16 >> 16,
    "uint8": lambda f, v: v & 255,
    "uint16": lambda f, v: v & 65535,
}


def _same(f: Any, v: Any) -> Any:
    return v


def _to_half(f: Any, v: Any) -> Any:
    """The nearest number of float16, of two the even one: infinity from 65520 on; NaN stays.

    Fractions have 10 bits. Below 2^-14 numbers are multiples of 2^-24, as floats around 0.75 are.
    """
    bits, size = f.bits_to_int(v), f.max(v, -v)
    normal = f.bits_to_float(bits + 4095 + (bits >> 13 & 1) & -8192)
    small = f.rounded(v + 0.75) - 0.75
    beyond = f.if_positive(size - 65504.0, v * 3e38, v)
    finite = f.if_positive(size - 2.0**-14, normal, small)
    return f.if_positive(65520.0 - size, finite, beyond)


def _to_bfloat16(f: Any, v: Any) -> Any:
    """The nearest number of bfloat16, of two the even one; NaN stays."""
    bits = f.bits_to_int(v)
    return f.or_nan(f.bits_to_float(bits + 32767 + (bits >> 16 & 1) & -65536), v)


def _conversion(source: str, target: str) -> Formula:
    """The formula of a cast: fractions are truncated, narrow integers wrap."""
    floating = kernel_dtype(source) == "float32"
    if target == "float16" and source != target:
        return _to_half if floating else lambda f, v: _to_half(f, f.to_float(v))
    if kernel_dtype(target) == "float32":
        return _same if floating else lambda f, v: f.to_float(v)
    if target == "bool":
        zero = 0.0 if floating else 0
        return lambda f, v: f.to_int(f.differs(v, zero))
    if floating:
        return _of_floats(target)
    return _NARROW.get(target, _same) if source != target else _same


def _of_floats(target: str) -> Formula:
    """Those beyond the range of an integer become its least or greatest one, and NaN that."""
    limits = np.iinfo(target)
    low, greatest = max(limits.min, -(2**31)), min(limits.max, 2**31 - 1)
    high = min(greatest, 2**31 - 128)  # the greatest float that 32 bits hold

    def convert(f: Any, v: Any) -> Any:
        v = f.nan_to(v, 2.0**31)
        whole = f.to_int(f.clamp(v, float(low), float(high)))
        if high == greatest:
            return whole
        return whole + f.select(f.greater_equal(v, 2.0**31), greatest - high, 0)

    return convert


def _launch(op: Op, conversion: Formula) -> Launch:
    return linear_launch(op, "elementwise/convert.jinja", variables={"conversion": conversion})


def _cast(op: Op, target: Target) -> Launch:
    return _launch(op, _conversion(op.operand(0).dtype, op.core[-1].output.dtype))


def same_elements(op: Op) -> bool:
    """Whether the result of a CAST has the elements of its operand in the device's memory."""
    source, result = op.operand(0).dtype, op.output.dtype
    if device_dtype(source) != device_dtype(result):
        return False
    return _conversion(source, result) is _same


def rounded_to_bfloat16(values: Array) -> Array:
    """The nearest numbers of 16 bits, ties to even, as float32; NaN stays."""
    floats = values.astype(np.float32)
    bits = floats.view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(floats), floats, rounded.view(np.float32))


def _reference(op: Op, values: Array) -> Array:
    dtype = np.dtype(op.output.dtype)
    if values.dtype.kind != "f" or dtype.kind not in "iu":
        return values.astype(dtype)
    limits = np.iinfo(dtype)
    within = values < limits.max  # nor is NaN
    whole = np.where(within, np.maximum(values, limits.min), 0).astype(dtype)
    return np.where(within, whole, limits.max).astype(dtype)


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
    note="floats beyond the range of 32 bits with a sign become its least or greatest integer; "
    "bfloat16 only between two CASTs",
    versions=9,
    traits=Traits(lambda op: op.operand(0).dtype == op.output.dtype, converts=True),
)
define(
    "tflgpu.round_to_bfloat16",
    same_as_first,
    (row_major("convert", lambda op, _: _launch(op, _to_bfloat16)),),
    lambda op, x: rounded_to_bfloat16(x),
)
define(
    "BITCAST x -> y",
    _infer_bits,
    (row_major("convert", _bits),),
    lambda op, x: np.ascontiguousarray(x).view(op.output.dtype),
    ("float32", "int32", "uint32"),
)
