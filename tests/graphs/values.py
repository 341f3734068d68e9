"""What expressions are made of: `call("RELU", call("ADD", x(2, 5), w(5)))`.

An expression is a value: an input of the model, a constant, a state, or the result of an operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tflgpu.compiler.ir import Array, Blocks, Quantization, Shape


@dataclass(frozen=True, eq=False)
class Input:
    """An input of the model."""

    shape: Shape
    draw: str = "normal"
    dtype: str = "float32"
    quantization: Quantization | None = None


@dataclass(frozen=True, eq=False)
class Constant:
    """A constant: the values given, or float32 drawn for its shape."""

    shape: Shape
    draw: str = "normal"
    values: Array | None = None
    quantization: Quantization | None = None
    dtype: str = ""  # A type that numpy lacks; the values are of a wider one.
    blocks: Blocks | None = None


@dataclass(frozen=True, eq=False)
class State:
    """What the model keeps from run to run; zeros at first."""

    shape: Shape


@dataclass(frozen=True, eq=False)
class Call:
    """An operator applied to values; `shapes` where they do not follow from constants alone."""

    operator: str
    operands: tuple[Value | None, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    shapes: tuple[Shape, ...] | None = None
    dtype: str = "float32"
    outputs: int = 1
    dtypes: tuple[str, ...] = ()  # Types of the outputs where they differ.
    quantization: Quantization | None = None  # Of each output that holds quantized integers.


@dataclass(frozen=True, eq=False)
class Part:
    """One output of an operator that has several."""

    call: Call
    position: int


Value = Input | Constant | State | Call | Part


@dataclass(frozen=True, eq=False)
class Body:
    """An attribute of a call: the subgraph that the operator runs."""

    operands: tuple[Input, ...]
    result: Value


def x(*shape: int, draw: str = "normal") -> Input:
    """An input of the model."""
    return Input(shape, draw)


def xi(*shape: int, draw: str = "small", dtype: str = "int32") -> Input:
    """An input of the model that holds integers, or truth values."""
    return Input(shape, "truth" if dtype == "bool" else draw, dtype)


def w(*shape: int, draw: str = "normal") -> Constant:
    """A drawn constant."""
    return Constant(shape, draw)


def ints(*values: int) -> Constant:
    """A constant vector of int32."""
    return Constant((len(values),), values=np.array(values, np.int32))


def affine(scale: float, zero: int = 0) -> Quantization:
    """A tensor quantized as a whole."""
    return Quantization((float(np.float32(scale)),), (zero,))


def xq(*shape: int, dtype: str = "int8", scale: float = 0.05, zero: int = 0) -> Input:
    """A quantized input, drawn from all integers of its type."""
    return Input(shape, "whole range", dtype, affine(scale, zero))


def quantized(
    operator: str,
    *operands: Value | None,
    dtype: str = "int8",
    scale: float = 0.05,
    zero: int = 0,
    **attrs: Any,
) -> Call:
    """An operator with one quantized output."""
    return Call(operator, operands, attrs, dtype=dtype, quantization=affine(scale, zero))


def known(
    values: Array | np.generic, quantization: Quantization | None = None, dtype: str = ""
) -> Constant:
    """A constant of those values; `dtype` is a type that numpy lacks, such as int4."""
    return Constant(values.shape, "", np.asarray(values), quantization, dtype)


def number(value: float, dtype: str = "float32") -> Constant:
    """A constant of rank 0."""
    return known(np.array(value, dtype))


def table(*rows: tuple[int, ...], dtype: str = "int32") -> Constant:
    """A constant matrix of integers, such as the paddings of PAD."""
    return known(np.array(rows, dtype))


def call(operator: str, *operands: Value | None, **attrs: Any) -> Call:
    """An operator with one output, whose shape follows from its operands."""
    return Call(operator, operands, attrs)


def typed(dtype: str, operator: str, *operands: Value | None, **attrs: Any) -> Call:
    """An operator with one output that is no float32."""
    return Call(operator, operands, attrs, dtype=dtype)


def parts(operator: str, count: int, *operands: Value, **attrs: Any) -> tuple[Part, ...]:
    """The outputs of an operator that has several."""
    whole = Call(operator, operands, attrs, outputs=count)
    return tuple(Part(whole, position) for position in range(count))


def joined(operator: str, dtype: str = "float32") -> Body:
    """The subgraph that joins two scalars by an operator."""
    operands = xi(dtype=dtype), xi(dtype=dtype)
    return Body(operands, typed(dtype, operator, *operands))


def transpose(value: Value, *order: int) -> Call:
    """A value with its axes in another order."""
    return call("TRANSPOSE", value, ints(*order))


def reshape(value: Value, *shape: int) -> Call:
    """A value in another shape."""
    return call("RESHAPE", value, ints(*shape), new_shape=shape)


def largest(values: Value, count: int) -> list[Value]:
    """The largest floats of each row, and their places."""
    operands = (values, number(count, "int32"))
    whole = Call("TOPK_V2", operands, outputs=2, dtypes=("float32", "int32"))
    return [Part(whole, 0), Part(whole, 1)]
