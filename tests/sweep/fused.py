"""Whole graphs: a producer of a value, then elementwise operators in chains and diamonds.

Operands broadcast in every way, values have several readers, and inner values are outputs, too.
"""

from collections.abc import Callable, Sequence

import numpy as np
from graphs import Call, Input, Value, call, ints, typed, w
from hypothesis.strategies import DrawFn, permutations

from tflgpu.compiler.ir import Shape

from .blocks import GENERATORS as BLOCKS
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

_Known = tuple[Value, Shape]  # A value and its shape.


def _floats(draw: DrawFn, generator: Generator) -> list[Value]:
    """The values of another generator, drawn until all of them are floats."""
    while True:
        drawn = generator(draw)
        values = list(drawn) if isinstance(drawn, Sequence) else [drawn]
        if all(_dtype(value) == "float32" for value in values):
            return values


def _dtype(value: Value) -> str:
    return value.dtype if isinstance(value, (Input, Call)) else "float32"


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
    "space to depth": BLOCKS["SPACE_TO_DEPTH"],
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
    """An operator on a value and another one, or a new operand; one broadcasts to the other."""
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
    """A shape that broadcasts to `sizes`; in some cases one that `sizes` broadcasts to."""
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


def _selected(draw: DrawFn, alive: Sequence[_Known]) -> _Known:
    """The smaller of two values, by a comparison."""
    value, sizes = pick(draw, alive)
    extents = part(draw, sizes)
    other = data(draw, extents, often=2)
    less = typed("bool", "LESS", value, other)
    return call("SELECT_V2", less, value, other), sizes


def _moved(draw: DrawFn, alive: Sequence[_Known]) -> _Known:
    """A value in another shape, where a fusion must stop or which it must see through."""
    value, sizes = pick(draw, alive)
    if not sizes:
        return call("NEG", value), sizes
    position = axis(draw, len(sizes))
    ways: dict[str, Callable[[], Call]] = {
        "flat": lambda: call("RESHAPE", value, ints(-1)),
        "joined": lambda: call("CONCATENATION", value, value, axis=position),
        "mean": lambda: call("MEAN", value, ints(position), keep_dims=True),
        "padded": lambda: call("PAD", value, table([[n % 2, 1] for n in range(len(sizes))])),
        "part": lambda: _part(draw, value, sizes),
        "softmax": lambda: call("SOFTMAX", value, beta=1.0),
        "turned": lambda: call("TRANSPOSE", value, ints(*draw(permutations(range(len(sizes)))))),
    }
    moved = ways[pick(draw, tuple(ways))]()
    return moved, shape_of(moved)


def _part(draw: DrawFn, value: Value, sizes: Shape) -> Call:
    """Some of the elements along an axis, which may lie as a view within the value."""
    position = number(draw, 0, len(sizes) - 1)
    first = number(draw, 0, sizes[position] - 1)
    count = pick(draw, (1, sizes[position] - first))
    begin = [first if n == position else 0 for n in range(len(sizes))]
    extents = [count if n == position else size for n, size in enumerate(sizes)]
    return call("SLICE", value, ints(*begin), ints(*extents))


def _layer(draw: DrawFn, alive: Sequence[_Known]) -> _Known:
    """Another layer of a network, into which scales, pads and activations may be folded."""
    value, sizes = pick(draw, alive)
    if len(sizes) != 4:
        return _moved(draw, alive)
    channels, outputs = sizes[3], pick(draw, (sizes[3], 5, 16))
    size, stride = pick(draw, (1, 1, 3)), pick(draw, (1, 1, 2))
    window = {"padding": "SAME", "stride_h": stride, "stride_w": stride}
    spread = {**window, "dilation_h_factor": 1, "dilation_w_factor": 1}
    pool = {**window, "filter_height": 2, "filter_width": 3}
    if one_in(draw, 4):
        value = call("PAD", value, table([[0, 0], [1, 1], [2, 0], [0, 0]]))
    ways: dict[str, Callable[[], Call]] = {
        "convolution": lambda: activated(
            draw, "CONV_2D", value, w(outputs, size, size, channels), w(outputs), **spread
        ),
        "fully connected": lambda: activated(
            draw, "FULLY_CONNECTED", value, w(outputs, channels), w(outputs), keep_num_dims=True
        ),
        "depthwise": lambda: activated(
            draw,
            "DEPTHWISE_CONV_2D",
            value,
            w(1, size, size, channels),
            w(channels),
            **spread,
            depth_multiplier=1,
        ),
        "pool": lambda: activated(draw, "MAX_POOL_2D", value, **pool),
        "resized": lambda: call("RESIZE_BILINEAR", value, ints(5, 7), half_pixel_centers=True),
    }
    layer = ways[pick(draw, tuple(ways))]()
    return layer, shape_of(layer)


STEPS = (_unary, _unary, _binary, _binary, _binary, _binary, _selected, _moved, _layer, _layer)


def _graph(producer: Generator) -> Generator:
    def generate(draw: DrawFn) -> list[Value]:
        alive = [(value, shape_of(value)) for value in _floats(draw, producer)]
        if one_in(draw, 3):
            alive.append((call("NEG", given(draw, alive[0][1])), alive[0][1]))
        for _ in range(number(draw, 2, 8)):
            alive.append(pick(draw, STEPS)(draw, alive[-3:]))
        inner = [value for value, _ in alive[:-1] if not isinstance(value, Input)]
        return [alive[-1][0], *(value for value in inner if one_in(draw, 6))]

    return generate


def gated(draw: DrawFn) -> Value:
    """An image times a gate for each of its channels, as in squeeze and excite."""
    sizes = image(draw)
    value = given(draw, sizes)
    squeezed = call("MEAN", value, ints(1, 2), keep_dims=True)
    gate = call("LOGISTIC", call("MUL", squeezed, given(draw, sizes[3:])))
    return call("MUL", value, gate) if flag(draw) else call("MUL", gate, value)


GENERATORS: dict[str, Generator] = {
    **{f"fused {name}": _graph(producer) for name, producer in PRODUCERS.items()},
    "fused gate": gated,
}
