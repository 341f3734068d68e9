"""No transpose is left inside a network that was converted from channels first."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs import Value, call, ints, known, number, parts, w, x
from rewriting import assert_agrees, compiled

# Orders of axes: channels first from channels last, and back.
FIRST, LAST = (0, 3, 1, 2), (0, 2, 3, 1)
LOWEST = float(np.finfo(np.float32).min)
ONCE = {"stride_h": 1, "stride_w": 1}
TWICE = {"stride_h": 2, "stride_w": 2}
SQUARE = {"filter_height": 2, "filter_width": 2}


def turn(value: Value, order: tuple[int, ...]) -> Value:
    return call("TRANSPOSE", value, ints(*order))


def channels_last(operator: str, image: Value, *rest: Value, **attrs: Any) -> Value:
    """An operator that requires channels last, with a transpose on either side."""
    return turn(call(operator, turn(image, LAST), *rest, **attrs), FIRST)


def conv(image: Value, outputs: int, inputs: int, size: int = 3, **attrs: Any) -> Value:
    attrs = {"padding": "SAME", **ONCE, **attrs}
    weights = w(outputs, size, size, inputs)
    return channels_last("CONV_2D", image, weights, w(outputs), **attrs)


def padded(image: Value, fill: float) -> Value:
    table = np.array([[0, 0], [0, 0], [1, 1], [1, 1]], np.int32)
    return call("PADV2", image, known(table), number(fill))


def scaled(image: Value, channels: int) -> Value:
    """Batch normalization, which is affine after training."""
    return call("ADD", call("MUL", image, w(1, channels, 1, 1)), w(channels, 1, 1))


def stem(image: Value) -> Value:
    halved = conv(padded(image, 0), 8, 3, padding="VALID", **TWICE)
    active = padded(call("RELU", scaled(halved, 8)), LOWEST)
    window = {"filter_height": 3, "filter_width": 3, **TWICE}
    return channels_last("MAX_POOL_2D", active, padding="VALID", **window)


def residual(image: Value) -> Value:
    first = call("RELU", scaled(conv(image, 8, 8), 8))
    return call("RELU", call("ADD", scaled(conv(first, 8, 8), 8), image))


def squeezed(image: Value) -> Value:
    """A depthwise convolution with a spelled-out HARD_SWISH, squeezed and excited."""
    attrs = {"padding": "SAME", "depth_multiplier": 1, **ONCE}
    depthwise = channels_last("DEPTHWISE_CONV_2D", image, w(1, 3, 3, 8), w(8), **attrs)
    active = call("MUL", depthwise, call("RELU6", call("ADD", depthwise, number(3))))
    few = call("RELU", conv(call("MEAN", active, ints(2, 3), keep_dims=True), 4, 8, 1))
    return call("MUL", active, call("LOGISTIC", conv(few, 8, 4, 1)))


def pyramid(image: Value, other: Value) -> Value:
    """Convolves half of the channels, and concatenates all with a resized and averaged copy."""
    half, rest = parts("SPLIT", 2, ints(1), image, num_splits=2)
    joined = call("CONCATENATION", call("PRELU", conv(half, 4, 4), w(4, 1, 1)), rest, other, axis=1)
    large = channels_last("RESIZE_BILINEAR", joined, ints(14, 14), half_pixel_centers=True)
    small = channels_last("AVERAGE_POOL_2D", large, padding="VALID", **SQUARE, **TWICE)
    return conv(call("CONCATENATION", joined, small, axis=1), 10, 32, 1)


def network(image: Value) -> list[Value]:
    """A network's features, and two heads: on their means, and on a flattened part."""
    first = residual(stem(image))
    features = pyramid(squeezed(first), first)
    means = call("MEAN", features, ints(2, 3), keep_dims=False)
    starts = ints(0, 0, 0, 0), ints(2, 10, 7, 7), ints(1, 1, 2, 2)
    part = call("STRIDED_SLICE", call("RELU", features), *starts)
    flat = call("RESHAPE", part, ints(2, 160), new_shape=(2, 160))
    classes = call("SOFTMAX", call("FULLY_CONNECTED", means, w(5, 10), w(5)), beta=1.0)
    return [turn(features, LAST), classes, call("FULLY_CONNECTED", flat, w(5, 160), w(5))]


IMAGES = {
    "channels last": (turn(x(2, 28, 28, 3), FIRST), 0),
    "channels first": (x(2, 3, 28, 28), 1),
}


@pytest.mark.parametrize("name", IMAGES)
def test_transposes_are_left_only_at_inputs_and_outputs(name: str) -> None:
    image, expected = IMAGES[name]
    labels = [d.label.split(" -> ")[0] for d in compiled(network(image)).plan.dispatches]
    assert labels.count("TRANSPOSE") == expected
    assert not {"PAD", "PADV2", "RELU", "ADD"} & set(labels)


def test_numbers_agree(tmp_path: Path) -> None:
    assert_agrees(tmp_path, *network(IMAGES["channels first"][0]))
