"""What generators draw: sizes, shapes that broadcast, and operands of every kind and type.

Sizes are prime, or at and next to multiples of slice widths. Tensors are small, so that thousands
of graphs run in minutes.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import TypeVar

import numpy as np
from graphs import DRAWS, Call, Constant, Input, Part, Value, call, drawn, known, model, typed
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tflgpu.compiler.ir import Shape

Choice = TypeVar("Choice")

# Draws the value that a small graph computes, or several, one for each output.
Generator = Callable[[DrawFn], Value | Sequence[Value]]

SIZES = (1, 2, 3, 5, 7, 11)
# Sizes of last axes, which may be stored in slices.
CHANNELS = (1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 19, 32, 37)

MOST = 3000  # Most elements of a tensor.

RANKS = (1, 2, 3, 4, 5, 6)
SLICED = (1, 2, 3, 4)  # Ranks that LiteRT's simplest kernels accept.

# Activations that LiteRT's own kernels apply.
ACTIVATIONS = ("NONE", "NONE", "RELU", "RELU6", "RELU_N1_TO_1")

# For each way to draw values, an operator that keeps what is special about them.
_COMPUTED = {"normal": "NEG", "positive": "ABS", "away from zero": "NEG", "wide": "NEG"}


def pick(draw: DrawFn, options: Sequence[Choice]) -> Choice:
    """One of the options."""
    return draw(st.sampled_from(options))


def number(draw: DrawFn, least: int, most: int) -> int:
    """An integer from `least` to `most`, both included."""
    return draw(st.integers(least, most))


def flag(draw: DrawFn) -> bool:
    return draw(st.booleans())


def one_in(draw: DrawFn, times: int) -> bool:
    """True in one of `times` cases."""
    return number(draw, 1, times) == times


def shape(draw: DrawFn, ranks: Sequence[int] = RANKS, most: int = MOST) -> Shape:
    """A shape of one of the ranks."""
    sizes: list[int] = []
    for left in reversed(range(pick(draw, ranks))):
        table = SIZES if left else CHANNELS
        sizes.append(pick(draw, [n for n in table if n * prod(sizes) <= most]))
    return tuple(sizes)


def image(draw: DrawFn, channels: Sequence[int] = CHANNELS) -> Shape:
    """The shape of a batch of images."""
    batch, rows, columns = (number(draw, 1, most) for most in (3, 9, 9))
    return batch, rows, columns, pick(draw, channels)


def part(draw: DrawFn, whole: Shape) -> Shape:
    """A shape that broadcasts to `whole`: some sizes are 1, and leading axes may be missing."""
    left = whole[number(draw, 0, len(whole)) if one_in(draw, 3) else 0 :]
    return tuple(1 if one_in(draw, 3) else size for size in left)


def pair(draw: DrawFn, ranks: Sequence[int]) -> tuple[Shape, Shape]:
    """Two shapes that broadcast with each other; one is mostly the shape of the result."""
    whole = shape(draw, ranks)
    shapes = [whole, whole if one_in(draw, 3) else part(draw, whole)]
    if one_in(draw, 4):
        shapes[0] = part(draw, whole)
    return (shapes[1], shapes[0]) if flag(draw) else (shapes[0], shapes[1])


def axis(draw: DrawFn, rank: int) -> int:
    """An axis, counted from either end."""
    return number(draw, -rank, rank - 1)


def given(
    draw: DrawFn, sizes: Shape, dtype: str = "float32", kind: str | None = None
) -> Input | Call:
    """An operand that is an input, or computed from one."""
    kind = kind or ("normal" if dtype == "float32" else "small")
    source = Input(sizes, "truth" if dtype == "bool" else kind, dtype)
    if not one_in(draw, 3):
        return source
    if dtype == "bool":
        return typed("bool", "LOGICAL_NOT", source)
    return typed(dtype, _COMPUTED[kind], source) if kind in _COMPUTED else source


def data(
    draw: DrawFn, sizes: Shape, dtype: str = "float32", kind: str | None = None, often: int = 4
) -> Value:
    """An operand of any kind; a constant in one of `often` cases."""
    kind = kind or ("normal" if dtype == "float32" else "small")
    take = constant if one_in(draw, often) else given
    return take(draw, sizes, dtype, kind)


def constant(draw: DrawFn, sizes: Shape, dtype: str = "float32", kind: str = "normal") -> Constant:
    """A constant of any type."""
    random = np.random.default_rng(number(draw, 0, 999))
    kind = "truth" if dtype == "bool" else kind
    return known(np.asarray(DRAWS[kind](random, sizes)).astype(dtype))


def scalar(value: float, dtype: str = "int32") -> Constant:
    return known(np.array(value, dtype))


def table(rows: Sequence[Sequence[int]]) -> Constant:
    """A constant matrix of int32."""
    return known(np.array(rows, np.int32).reshape(len(rows), -1))


def shape_of(value: Value) -> Shape:
    """The shape the compiler infers for a value."""
    return model({"value": value}).graph.outputs[0].shape


def activated(draw: DrawFn, operator: str, *operands: Value | None, **attrs: object) -> Call:
    """A call with a fused activation."""
    return call(operator, *operands, fused_activation_function=pick(draw, ACTIVATIONS), **attrs)


def with_constants(draw: DrawFn, values: Value | Sequence[Value]) -> Value | Sequence[Value]:
    """The same graph; in one of four, most inputs are constants, so that parts of it are folded."""
    if not one_in(draw, 4):
        return values
    made: dict[Value, Value] = {}

    def source(value: Input) -> Value:
        if one_in(draw, 4):
            return value
        array = drawn(f"constant{len(made)}", value.shape, value.draw, value.dtype)
        return known(array, value.quantization)

    def changed(value: Value) -> Value:
        if value not in made:
            if isinstance(value, Call):
                operands = (None if o is None else changed(o) for o in value.operands)
                made[value] = replace(value, operands=tuple(operands))
            elif isinstance(value, Part):
                call = changed(value.call)
                assert isinstance(call, Call)
                made[value] = replace(value, call=call)
            else:
                made[value] = source(value) if isinstance(value, Input) else value
        return made[value]

    return [changed(v) for v in values] if isinstance(values, Sequence) else changed(values)
