"""Whole graphs: what produces a value, then elementwise operators in chains and diamonds.

Operands broadcast in every way, values have several readers, and inner ones are outputs, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from expressions import Call, Value, call, ints
from hypothesis.strategies import DrawFn

from tflgpu.compiler.ir import Shape

from .draws import (
    MOST,
    Generator,
    activated,
    axis,
    data,
    flag,
    given,
    image,
    number,
    one_in,
    part,
    pick,
    shape,
    shape_of,
    table,
)
from .moves import GENERATORS as MOVES
from .reductions import GENERATORS as REDUCTIONS
from .windows import GENERATORS as WINDOWS

UNARY = ("ABS", "ELU", "HARD_SWISH", "LEAKY_RELU", "LOGISTIC", "NEG", "RELU", "RELU6", "TANH")
BINARY = ("ADD", "ADD", "DIV", "MAXIMUM", "MINIMUM", "MUL", "MUL", "SQUARED_DIFFERENCE", "SUB")
ACTIVATED = ("ADD", "DIV", "MUL", "SUB")

_Known = tuple[Value, Shape]
"""A value and its shape."""


def _first(generator: Generator) -> Generator:
    """What another generator draws, of floats."""

    def generate(draw: DrawFn) -> Value:
        while True:
            drawn = generator(draw)
            value = drawn[0] if isinstance(drawn, Sequence) else drawn
            if not isinstance(value, Call) or value.dtype == "float32":
                return value

    return generate


def softmax(draw: DrawFn) -> Value:
    return call("SOFTMAX", given(draw, shape(draw, (2, 3, 4))), beta=1.0)


def addition(draw: DrawFn) -> Value:
    sizes = shape(draw)
    return call("ADD", given(draw, sizes), given(draw, part(draw, sizes)))


PRODUCERS: dict[str, Generator] = {
    "average pool": WINDOWS["AVERAGE_POOL_2D"],
    "bilinear resize": WINDOWS["RESIZE_BILINEAR"],
    "concatenation": MOVES["CONCATENATION"],
    "convolution": WINDOWS["CONV_2D"],
    "depthwise convolution": WINDOWS["DEPTHWISE_CONV_2D"],
    "fully connected": WINDOWS["FULLY_CONNECTED"],
    "input": lambda draw: given(draw, shape(draw)),
    "maximum pool": WINDOWS["MAX_POOL_2D"],
    "mean": REDUCTIONS["MEAN"],
    "nearest resize": WINDOWS["RESIZE_NEAREST_NEIGHBOR"],
    "pad": MOVES["PAD"],
    "product of matrices": REDUCTIONS["BATCH_MATMUL"],
    "reduction": REDUCTIONS["REDUCE_MAX"],
    "slice": MOVES["SLICE"],
    "softmax": softmax,
    "space to depth": MOVES["SPACE_TO_DEPTH"],
    "split": MOVES["SPLIT_V"],
    "strided slice": MOVES["STRIDED_SLICE"],
    "sum": addition,
    "transpose": MOVES["TRANSPOSE"],
    "transposed convolution": WINDOWS["TRANSPOSE_CONV"],
}


def _unary(draw: DrawFn, alive: Sequence[_Known]) -> _Known:
    value, sizes = pick(draw, alive)
    operator = pick(draw, UNARY)
    attrs = {"alpha": 0.3} if operator == "LEAKY_RELU" else {}
    return call(operator, value, **attrs), sizes


def _binary(draw: DrawFn, alive: Sequence[_Known]) -> _Known:
    """With another value if shapes allow, else with an operand that broadcasts, or to which."""
    value, sizes = pick(draw, alive)
    operator = pick(draw, BINARY)
    kind = "away from zero" if operator == "DIV" else "normal"
    others = [other for other in alive if _broadcast(sizes, other[1]) is not None]
    if operator != "DIV" and flag(draw):
        other, extents = pick(draw, others)
    else:
        extents = _partner(draw, sizes)
        other = data(draw, extents, kind=kind, often=2)
    result = _broadcast(sizes, extents)
    assert result is not None
    operands = (value, other) if operator == "DIV" or flag(draw) else (other, value)
    if operator in ACTIVATED and one_in(draw, 3):
        return activated(draw, operator, *operands), result
    return call(operator, *operands), result


def _partner(draw: DrawFn, sizes: Shape) -> Shape:
    """A shape that broadcasts to another; now and then one that it broadcasts to."""
    if one_in(draw, 5) and len(sizes) <= 4:
        grown = tuple(pick(draw, (2, 3)) if n == 1 and flag(draw) else n for n in sizes)
        if int(np.prod(grown)) <= MOST:
            return grown
    return part(draw, sizes)


def _broadcast(first: Shape, second: Shape) -> Shape | None:
    try:
        return np.broadcast_shapes(first, second)
    except ValueError:
        return None


def _moved(draw: DrawFn, alive: Sequence[_Known]) -> _Known:
    """A value in another shape, which a fusion has to stop at or to look through."""
    value, sizes = pick(draw, alive)
    position = axis(draw, len(sizes)) if sizes else 0
    if not sizes:
        return call("NEG", value), sizes
    ways = {
        "concatenation": lambda: call("CONCATENATION", value, value, axis=position),
        "flat": lambda: call("RESHAPE", value, ints(-1)),
        "mean": lambda: call("MEAN", value, ints(position), keep_dims=True),
        "padded": lambda: call("PAD", value, table([[n % 2, 1] for n in range(len(sizes))])),
        "turned": lambda: call("TRANSPOSE", value, ints(*reversed(range(len(sizes))))),
    }
    moved = ways[pick(draw, tuple(ways))]()
    return moved, shape_of(moved)


def _graph(producer: Generator) -> Generator:
    def generate(draw: DrawFn) -> list[Value]:
        value = _first(producer)(draw)
        alive: list[_Known] = [(value, shape_of(value))]
        if one_in(draw, 3):
            alive.append((call("NEG", given(draw, alive[0][1])), alive[0][1]))
        for _ in range(number(draw, 1, 6)):
            steps = (_unary, _binary, _binary, _binary, _moved if one_in(draw, 4) else _binary)
            recent = alive[-3:]
            alive.append(pick(draw, steps)(draw, recent))
        outputs = [alive[-1][0]]
        outputs += [value for value, _ in alive[:-1] if isinstance(value, Call) and one_in(draw, 6)]
        return outputs

    return generate


def gated(draw: DrawFn) -> Value:
    """A picture times a gate for each of its channels, as in squeeze and excite."""
    sizes = image(draw)
    value = given(draw, sizes)
    squeezed = call("MEAN", value, ints(1, 2), keep_dims=True)
    gate = call("LOGISTIC", call("MUL", squeezed, given(draw, sizes[3:])))
    return call("MUL", value, gate) if flag(draw) else call("MUL", gate, value)


GENERATORS: dict[str, Generator] = {
    **{f"fused {name}": _graph(producer) for name, producer in PRODUCERS.items()},
    "fused gate": gated,
}
