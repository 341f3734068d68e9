"""Small layers on one vector, one behind another."""

from collections.abc import Iterator
from itertools import pairwise

from graphs import Value, call, ints, w, x

from .case import Case


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


def chains() -> Iterator[Case]:
    for channels in (19, 33):
        image = x(1, 7, 5, channels)
        value = call("MUL", image, squeezed(call("ABS", image), channels, keep=channels == 19))
        yield Case("recognized", f"squeeze and excite of {channels}", value)
    yield Case("recognized", "a perceptron", perceptron(x(1, 37), 37, 5, 16, 131, 3))
    yield Case("recognized", "a perceptron of one number", perceptron(x(1, 1), 1, 16, 1, 16, 2))
    behind = perceptron(call("TANH", x(1, 1, 1, 16)), 16, 48, 2)
    yield Case("recognized", "a perceptron behind another", behind)
    first = call("FULLY_CONNECTED", x(2, 37), w(19, 37), w(19))
    second = call("FULLY_CONNECTED", x(2, 16), w(19, 16), None)
    yield Case("recognized", "a sum of layers", call("TANH", call("ADD", first, second)))


TABLES = (chains,)
