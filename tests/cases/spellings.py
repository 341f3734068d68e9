"""Activations and softmax in the spellings that converters and authors use for them."""

from collections.abc import Callable, Iterator

import numpy as np
from graphs import Value, call, ints, number, x

from .case import Case


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
            yield Case("recognized", f"{name} {spelling}", value)


def softmax(image: Value, shifted: bool, axis: int = -1) -> Value:
    """exp(x) / sum(exp(x)), or of x less its maximum."""
    most = call("REDUCE_MAX", image, ints(axis), keep_dims=True)
    powers = call("EXP", call("SUB", image, most) if shifted else image)
    return call("DIV", powers, call("SUM", powers, ints(axis), keep_dims=True))


def softmaxes() -> Iterator[Case]:
    for shifted in (False, True):
        value = softmax(x(2, 3, 5, 19), shifted)
        yield Case("recognized", f"softmax {'shifted' if shifted else 'as is'}", value)
    for shape, axis in (((2, 3, 5, 19), 1), ((2, 3, 5, 19), 2), ((7, 37), 0), ((2, 3, 5, 2, 7), 2)):
        value = softmax(x(*shape), shifted=True, axis=axis)
        yield Case("recognized", f"softmax of {shape} over {axis}", value)


TABLES = (activations, softmaxes)
