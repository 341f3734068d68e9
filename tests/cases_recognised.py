"""Composite operators in the spellings that converters and authors use for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from case import Case
from expressions import Value, call, ints, known, w, x

Norm = Callable[[Value, tuple[int, ...], Value, Value], Value]


def number(value: float) -> Value:
    return known(np.array(value, np.float32))


def mean(value: Value, axes: tuple[int, ...]) -> Value:
    return call("MEAN", value, ints(*axes), keep_dims=True)


def deviation(squares: Value, axes: tuple[int, ...]) -> Value:
    """One divided by it."""
    return call("RSQRT", call("ADD", mean(squares, axes), number(1e-3)))


def layers(image: Value, axes: tuple[int, ...], gain: Value, offset: Value) -> Value:
    """(x - m) r gain + offset, as PyTorch's converters have it."""
    centered = call("SUB", image, mean(image, axes))
    factor = deviation(call("MUL", centered, centered), axes)
    return call("ADD", call("MUL", call("MUL", centered, factor), gain), offset)


def batches(image: Value, axes: tuple[int, ...], gain: Value, offset: Value) -> Value:
    """x (r gain) + (offset - m (r gain)), as Keras has it."""
    center = mean(image, axes)
    factor = deviation(call("SQUARED_DIFFERENCE", image, center), axes)
    scale = call("MUL", factor, gain)
    shift = call("SUB", offset, call("MUL", center, scale))
    return call("ADD", call("MUL", image, scale), shift)


def negated(image: Value, axes: tuple[int, ...], gain: Value, offset: Value) -> Value:
    """The same with a negated mean, as MediaPipe's networks have it."""
    center = mean(image, axes)
    factor = deviation(call("SQUARED_DIFFERENCE", center, image), axes)
    scale = call("MUL", gain, factor)
    moved = call("MUL", call("NEG", center), scale)
    return call("ADD", call("ADD", call("MUL", image, scale), moved), offset)


def divided(image: Value, axes: tuple[int, ...], gain: Value, offset: Value) -> Value:
    """gain (x - m) / sqrt(v + e) + offset."""
    centered = call("SUB", image, mean(image, axes))
    variance = call("ADD", number(1e-3), mean(call("SQUARE", centered), axes))
    quotient = call("DIV", call("MUL", gain, centered), call("SQRT", variance))
    return call("ADD", offset, quotient)


def powered(image: Value, axes: tuple[int, ...], gain: Value, offset: Value) -> Value:
    """(x - m) (v + e)^-0.5 gain + offset."""
    centered = call("SUB", image, mean(image, axes))
    variance = call("ADD", mean(call("SQUARE", centered), axes), number(1e-3))
    factor = call("POW", variance, number(-0.5))
    return call("ADD", call("MUL", call("MUL", centered, factor), gain), offset)


def reciprocal(image: Value, axes: tuple[int, ...], gain: Value, offset: Value) -> Value:
    """(x - m) (1 / sqrt(v + e)) gain + offset."""
    center = mean(image, axes)
    squares = call("SQUARED_DIFFERENCE", image, center)
    root = call("SQRT", call("ADD", mean(squares, axes), number(1e-3)))
    factor = call("DIV", number(1), root)
    product = call("MUL", call("SUB", image, center), factor)
    return call("ADD", call("MUL", product, gain), offset)


def root_mean_square(image: Value, axes: tuple[int, ...], gain: Value, offset: Value) -> Value:
    """x r gain, without a mean to be subtracted."""
    return call("MUL", image, call("MUL", deviation(call("SQUARE", image), axes), gain))


NORMS: dict[str, Norm] = {
    "layers": layers,
    "batches": batches,
    "negated": negated,
    "divided": divided,
    "powered": powered,
    "reciprocal": reciprocal,
    "root mean square": root_mean_square,
}


def norms() -> Iterator[Case]:
    for name, norm in NORMS.items():
        yield Case("recognised", f"{name} of a row", norm(x(2, 3, 5, 19), (3,), w(19), w(19)))
    shapes: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
        "vectors": ((7, 37), (1,)),
        "an instance": ((2, 7, 11, 19), (1, 2)),
        "a picture": ((2, 5, 7, 19), (1, 2, 3)),
        "rows": ((1, 5, 7, 3), (1,)),
        "groups": ((2, 3, 5, 2, 7), (1, 2, 4)),
    }
    for name, (shape, axes) in shapes.items():
        gain, offset = w(shape[-1]), w(shape[-1])
        yield Case("recognised", f"norm of {name}", batches(x(*shape), axes, gain, offset))
    value = root_mean_square(x(2, 7, 11, 19), (1, 2), w(19), w(19))
    yield Case("recognised", "root mean square of an instance", value)
    style = call("TANH", x(2, 1, 1, 19))
    image = x(2, 7, 11, 19)
    value = call("RELU", batches(image, (1, 2), style, call("ABS", style)))
    yield Case("recognised", "norm of an instance with computed gain", call("ADD", value, image))


def scaled(value: Value, factor: float) -> Value:
    return call("MUL", value, number(factor))


def hard_swishes(a: Value) -> dict[str, Value]:
    """x relu6(x + 3) / 6."""
    moved = call("ADD", a, number(3))
    clipped = call("RELU6", moved)
    bounded = call("MINIMUM", call("MAXIMUM", moved, number(0)), number(6))
    inner = call("ADD", scaled(a, 1 / 6), number(0.5))
    return {
        "divided at last": call("DIV", call("MUL", a, clipped), number(6)),
        "scaled inside": call("MUL", scaled(clipped, 1 / 6), a),
        "scaled outside": scaled(call("MUL", clipped, a), 1 / 6),
        "bounded": call("MUL", a, scaled(bounded, 1 / 6)),
        "from 0 to 1": call("MUL", a, call("RELU_0_TO_1", inner)),
    }


def gelus(a: Value) -> dict[str, Value]:
    """0.5 x (1 + tanh(0.7979 (x + 0.0447 x^3))), and 0.5 x (1 + erf(x / 1.4142))."""
    cubes = call("MUL", a, call("SQUARE", a)), call("POW", a, number(3))
    factor = call("ADD", number(1), scaled(call("MUL", a, a), 0.044715))
    bent = [call("ADD", a, scaled(cube, 0.044715)) for cube in cubes]
    curves = [
        call("TANH", scaled(value, (2 / np.pi) ** 0.5)) for value in (*bent, call("MUL", a, factor))
    ]
    halves = [scaled(call("ADD", curve, number(1)), 0.5) for curve in curves]
    exact = call("ADD", error_function(call("DIV", a, number(2**0.5))), number(1))
    return {
        "of a cube": call("MUL", a, halves[0]),
        "of a power": call("MUL", halves[1], a),
        "of errors": scaled(call("MUL", a, exact), 0.5),
        "of a product": call("MUL", scaled(a, 0.5), call("ADD", curves[2], number(1))),
    }


def error_function(a: Value) -> Value:
    """sign(x) (1 - p(t) t exp(-x x)), t = 1 / (1 + 0.33 abs(x)), as onnx2tf writes Erf."""
    size = call("ABS", a)
    sign = call("DIV", a, call("ADD", call("ABS", a), number(1e-11)))
    t = call("DIV", number(1), call("ADD", scaled(size, 0.3275911), number(1)))
    total: Value = scaled(t, 1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        total = call("MUL", call("ADD", total, number(factor)), t)
    power = call("EXP", call("MUL", call("NEG", size), size))
    return call("MUL", sign, call("SUB", number(1), call("MUL", total, power)))


def silus(a: Value) -> dict[str, Value]:
    """x logistic(x)."""
    power = call("EXP", call("NEG", a))
    return {
        "by LOGISTIC": call("MUL", call("LOGISTIC", a), a),
        "by EXP": call("DIV", a, call("ADD", power, number(1))),
    }


def mishes(a: Value) -> dict[str, Value]:
    """x tanh(log(1 + exp(x)))."""
    return {
        "as is": call("MUL", a, call("TANH", call("LOG", call("ADD", call("EXP", a), number(1)))))
    }


ACTIVATIONS: dict[str, Callable[[Value], dict[str, Value]]] = {
    "GELU": gelus,
    "HARD_SWISH": hard_swishes,
    "tflgpu.mish": mishes,
    "tflgpu.erf": lambda a: {"of powers": error_function(a)},
    "tflgpu.silu": silus,
}


def activations() -> Iterator[Case]:
    for name, spellings in ACTIVATIONS.items():
        for spelling in spellings(x(1)):
            value = spellings(x(2, 3, 5, 19, draw="small"))[spelling]
            yield Case("recognised", f"{name} {spelling}", value)


def softmax(image: Value, shifted: bool, axis: int = -1) -> Value:
    """exp(x) / sum(exp(x)), or of x less its maximum."""
    most = call("REDUCE_MAX", image, ints(axis), keep_dims=True)
    powers = call("EXP", call("SUB", image, most) if shifted else image)
    return call("DIV", powers, call("SUM", powers, ints(axis), keep_dims=True))


def softmaxes() -> Iterator[Case]:
    for shifted in (False, True):
        value = softmax(x(2, 3, 5, 19), shifted)
        yield Case("recognised", f"softmax {'shifted' if shifted else 'as is'}", value)
    for shape, axis in (((2, 3, 5, 19), 1), ((2, 3, 5, 19), 2), ((7, 37), 0), ((2, 3, 5, 2, 7), 2)):
        value = softmax(x(*shape), shifted=True, axis=axis)
        yield Case("recognised", f"softmax of {shape} over {axis}", value)


def layer(value: Value, outputs: int, inputs: int) -> Value:
    window = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
    return call("CONV_2D", value, w(outputs, 1, 1, inputs), w(outputs), **window)


def squeezed(image: Value, channels: int, keep: bool = True) -> Value:
    """The factors of squeeze and excite."""
    middle = call("MEAN", image, ints(1, 2), keep_dims=keep)
    if not keep:
        middle = call("RESHAPE", middle, ints(1, 1, 1, channels), new_shape=(1, 1, 1, channels))
    few = call("RELU", layer(middle, 7, channels))
    return call("LOGISTIC", layer(few, channels, 7))


def perceptron(value: Value, *widths: int) -> Value:
    for inputs, outputs in pairwise(widths):
        value = call("FULLY_CONNECTED", value, w(outputs, inputs), w(outputs))
        value = call("HARD_SWISH", value)
    return value


def dense_chains() -> Iterator[Case]:
    for channels in (19, 33):
        image = x(1, 7, 5, channels)
        value = call("MUL", image, squeezed(call("ABS", image), channels, keep=channels == 19))
        yield Case("recognised", f"squeeze and excite of {channels}", value)
    yield Case("recognised", "a perceptron", perceptron(x(1, 37), 37, 5, 16, 131, 3))
    behind = perceptron(call("TANH", x(1, 1, 1, 16)), 16, 48, 2)
    yield Case("recognised", "a perceptron behind another", behind)
    first = call("FULLY_CONNECTED", x(2, 37), w(19, 37), w(19))
    second = call("FULLY_CONNECTED", x(2, 16), w(19, 16), None)
    yield Case("recognised", "a sum of layers", call("TANH", call("ADD", first, second)))


def recognised() -> Iterator[Case]:
    yield from norms()
    yield from activations()
    yield from softmaxes()
    yield from dense_chains()
