"""What goes into the weights, the bias, the padding and the dilation of convolutions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from graphs import Value, call, ints, known, w, x
from rewrites import assert_agrees, kernels, operators, reasons

WINDOW = {"stride_h": 1, "stride_w": 1}
TWOS = ints(2, 2)


def conv(
    image: Value,
    outputs: int,
    inputs: int,
    size: int = 1,
    padding: str = "VALID",
    stride: int = 1,
    weights: Value | None = None,
) -> Value:
    """With weights drawn for its shape, unless they are given."""
    attrs = {"padding": padding, "stride_h": stride, "stride_w": stride}
    weights = weights or w(outputs, size, size, inputs)
    return call("CONV_2D", image, weights, w(outputs), **attrs)


def depthwise(image: Value, channels: int, padding: str = "VALID") -> Value:
    attrs = {**WINDOW, "padding": padding, "depth_multiplier": 1}
    return call("DEPTHWISE_CONV_2D", image, w(1, 3, 3, channels), w(channels), **attrs)


def transposed(image: Value, shape: Value, stride: int, outputs: int, *size: int) -> Value:
    """With an output of that shape and weights for windows of that size and so many inputs."""
    attrs = {"padding": "SAME", "stride_h": stride, "stride_w": stride}
    return call("TRANSPOSE_CONV", shape, w(outputs, *size), image, w(outputs), **attrs)


def enlarged(image: Value, outputs: int, inputs: int) -> Value:
    """Twice as many rows and columns as a picture of 7 x 5."""
    return transposed(image, ints(2, 14, 10, outputs), 2, outputs, 3, 3, inputs)


def pairs(*rows: tuple[int, int]) -> Value:
    return known(np.array(rows, np.int32))


def pad(image: Value, *, batch: int = 0, fill: float = 0.0) -> Value:
    table = pairs((batch, 0), (1, 2), (2, 1), (0, 0))
    return call("PADV2", image, table, known(np.float32(fill)))


def spread(image: Value, rows: tuple[int, int], columns: tuple[int, int]) -> Value:
    return call("SPACE_TO_BATCH_ND", image, TWOS, pairs(rows, columns))


def atrous(kind: str) -> Value:
    """A 3x3 convolution of rate 2 with the padding of SAME, as TensorFlow wrote it."""
    batches = spread(x(1, 7, 11, 5), (2, 3), (2, 3))
    inner = conv(batches, 19, 5, 3) if kind == "CONV_2D" else depthwise(batches, 5)
    crops = pairs((0, 1), (0, 1))
    return call("BATCH_TO_SPACE_ND", call("RELU6", inner), TWOS, crops)


def chain(first: str, second: str, channels: int, padding: str = "VALID") -> Value:
    """An affine step on each side of a convolution."""
    image = call(first, call(second, x(1, 7, 5, 3), w(3)), w(3))
    return call(second, call(first, conv(image, channels, 3, 3, padding), w(channels)), w())


def weighed(channels: int = 19, batches: int = 1) -> Value:
    """Channels weighed by what follows from their means."""
    image = depthwise(x(batches, 7, 5, channels), channels)
    mean = call("MEAN", image, ints(1, 2), keep_dims=True)
    return call("MUL", image, call("LOGISTIC", conv(mean, channels, channels)))


def gated(channels: int = 19, size: int = 1, *, batches: int = 1) -> Value:
    """Squeeze and excite, and the convolution behind it."""
    return conv(weighed(channels, batches), 23, channels, size)


BEFORE = ["MUL", "ADD", "SUB", "DIV"]

CASES = {
    "dilate_conv": (
        atrous("CONV_2D"),
        "SPACE_TO_BATCH_ND  CONV_2D  RELU6  BATCH_TO_SPACE_ND",
        "CONV_2D  RELU6",
    ),
    "fold_scale_before_conv": (
        conv(call("ADD", call("MUL", x(1, 7, 5, 3), w(3)), w(3)), 19, 3, 3),
        "MUL  ADD  CONV_2D",
        "CONV_2D",
    ),
    "fold_scale_into_conv": (
        call("ADD", call("MUL", conv(x(1, 7, 5, 3), 19, 3, 3), w(19)), w(19)),
        "CONV_2D  MUL  ADD",
        "CONV_2D",
    ),
    "transpose_conv_to_conv": (
        transposed(x(1, 7, 5, 3), ints(1, 7, 5, 19), 1, 19, 3, 4, 3),
        "TRANSPOSE_CONV",
        "CONV_2D",
    ),
    "compose_pointwise": (
        conv(conv(x(1, 7, 5, 3), 31, 3), 17, 31),
        "CONV_2D  CONV_2D",
        "CONV_2D",
    ),
    "fold_pad_into_conv": (
        conv(pad(x(1, 7, 5, 3)), 19, 3, 3),
        "PADV2  CONV_2D",
        "CONV_2D",
    ),
    "fold_gate_into_conv": (
        gated(),
        "DEPTHWISE_CONV_2D  MEAN  CONV_2D  LOGISTIC  MUL  CONV_2D",
        "DEPTHWISE_CONV_2D  MEAN  CONV_2D  LOGISTIC  CONV_2D",
    ),
    "concat_to_pad": (
        conv(
            call("CONCATENATION", known(np.zeros((1, 2, 5, 3), np.float32)), x(1, 7, 5, 3), axis=1),
            19,
            3,
            3,
        ),
        "CONCATENATION  CONV_2D",
        "PAD  CONV_2D",
    ),
}


@pytest.mark.parametrize("rule", CASES)
def test_before_and_after(rule: str) -> None:
    value, before, after = CASES[rule]
    assert operators(value) == before
    assert operators(value, rule) == after


DECLINES = [
    (
        "fold_gate_into_conv",
        gated(size=3),
        "the convolution is not 1x1 with constant weights",
    ),
    (
        "fold_gate_into_conv",
        gated(batches=2),
        "the other factor is not one value for each channel of one picture",
    ),
    (
        "fold_gate_into_conv",
        conv(call("MUL", x(1, 7, 5, 3), w(3)), 5, 3),
        "not both factors are computed, or both broadcast",
    ),
    (
        "fold_pad_into_conv",
        conv(pad(x(1, 7, 5, 3), batch=1), 19, 3),
        "it pads the batch or the channels",
    ),
    ("fold_pad_into_conv", conv(pad(x(1, 7, 5, 3), fill=1.5), 19, 3), "it pads with 1.5"),
    (
        "fold_pad_into_conv",
        call(
            "MAX_POOL_2D",
            pad(x(1, 7, 5, 3)),
            padding="VALID",
            filter_height=2,
            filter_width=2,
            **WINDOW,
        ),
        "not only convolutions read it, but MAX_POOL_2D",
    ),
    (
        "fold_scale_before_conv",
        conv(call("ADD", x(1, 7, 5, 3), w(3)), 19, 3, 3, "SAME"),
        "the convolution pads with zeros, which nothing is added to",
    ),
    (
        "fold_scale_before_conv",
        enlarged(call("ADD", x(2, 7, 5, 3), w(3)), 19, 3),
        "windows at the edges see fewer pixels, to which less is added",
    ),
    (
        "fold_scale_before_conv",
        conv(call("SUB", w(3), x(1, 7, 5, 3)), 19, 3),
        "the picture is subtracted or divided by",
    ),
    (
        "fold_scale_before_conv",
        conv(call("MUL", x(1, 7, 5, 3), w(5, 1)), 19, 3),
        "the constant is neither a scalar nor one value for each channel",
    ),
    (
        "compose_pointwise",
        conv(conv(x(1, 7, 5, 17), 3, 17), 19, 3),
        "17 x 19 products a pixel are no fewer than by way of 3 channels",
    ),
    ("compose_pointwise", conv(conv(x(1, 7, 5, 3), 31, 3), 5, 31, 3), "they are not both 1x1"),
    (
        "dilate_conv",
        call(
            "BATCH_TO_SPACE_ND",
            conv(spread(x(1, 7, 5, 3), (1, 0), (0, 1)), 5, 3, 1, stride=2),
            TWOS,
            pairs((0, 0), (0, 0)),
        ),
        "the convolution has strides or dilations",
    ),
    (
        "dilate_conv",
        call(
            "BATCH_TO_SPACE_ND",
            conv(spread(x(1, 7, 5, 3), (1, 0), (0, 1)), 5, 3),
            TWOS,
            pairs((2, 0), (0, 0)),
        ),
        "more is cut off than is padded",
    ),
    (
        "dilate_conv",
        conv(spread(x(1, 7, 5, 3), (1, 0), (0, 1)), 5, 3),
        "no BATCH_TO_SPACE_ND follows",
    ),
    (
        "dilate_conv",
        call(
            "BATCH_TO_SPACE_ND",
            conv(spread(x(2, 8, 4, 3), (0, 0), (0, 0)), 5, 3),
            ints(4, 1),
            pairs((0, 0), (0, 0)),
        ),
        "the blocks differ before and after",
    ),
    (
        "dilate_conv",
        conv(x(1, 4, 4, 5), 4, 5, weights=spread(x(1, 6, 2, 5), (0, 0), (0, 0))),
        "the blocks are not the convolution's picture",
    ),
    (
        "concat_to_pad",
        conv(call("CONCATENATION", x(1, 2, 5, 3), x(1, 7, 5, 3), axis=1), 19, 3),
        "not one input is computed and the others are constants",
    ),
    (
        "compose_pointwise",
        conv(conv(x(1, 7, 5, 3), 31, 3), 5, 31, weights=call("TANH", x(5, 1, 1, 31))),
        "weights or a bias are computed while the model runs",
    ),
    (
        "compose_pointwise",
        conv(x(1, 7, 5, 3), 4, 3, weights=conv(x(4, 1, 1, 3), 3, 3)),
        "the first one's result is no picture of the second",
    ),
    (
        "fold_pad_into_conv",
        conv(x(1, 9, 9, 3), 5, 3, 7, weights=pad(x(5, 4, 4, 3))),
        "the padded tensor is not the picture",
    ),
    (
        "fold_scale_before_conv",
        conv(x(1, 7, 5, 3), 5, 3, weights=call("MUL", x(5, 1, 1, 3), w(3))),
        "it computes weights or a bias",
    ),
    (
        "fold_scale_before_conv",
        conv(call("MUL", x(1, 7, 5, 3), w(3)), 5, 3, weights=call("TANH", x(5, 1, 1, 3))),
        "weights or bias are computed while the model runs",
    ),
    (
        "fold_scale_before_conv",
        conv(call("MUL", x(1, 7, 5, 3), x(3)), 5, 3),
        "neither operand is a constant",
    ),
    (
        "fold_scale_before_conv",
        conv(call("MUL", x(1, 7, 5, 1), w(3)), 5, 3),
        "the constant broadcasts the picture, or the channels are split into groups",
    ),
    (
        "fold_scale_into_conv",
        call("ADD", conv(x(1, 7, 5, 3), 5, 3, weights=call("TANH", x(5, 1, 1, 3))), w(5)),
        "weights or bias are computed while the model runs",
    ),
    (
        "fold_gate_into_conv",
        conv(x(1, 7, 5, 3), 5, 3, weights=call("MUL", x(5, 1, 1, 3), x(1, 1, 1, 3))),
        "the product is not the picture",
    ),
    (
        "concat_to_pad",
        conv(call("CONCATENATION", w(1, 2, 5, 3), x(1, 7, 5, 3), axis=1), 19, 3),
        "a constant is not all zeros",
    ),
    (
        "transpose_conv_to_conv",
        enlarged(x(2, 7, 5, 3), 19, 3),
        "the stride is not 1",
    ),
    (
        "transpose_conv_to_conv",
        transposed(x(1, 7, 5, 3), ints(1, 7, 3, 19), 1, 19, 1, 1, 3),
        "the output leaves out pixels of the input",
    ),
]


@pytest.mark.parametrize(("rule", "value", "reason"), DECLINES, ids=lambda part: str(part)[:40])
def test_it_declines(rule: str, value: Value, reason: str) -> None:
    assert reasons(value, rule) == [reason]


def test_a_product_that_is_added_afterwards_stays() -> None:
    product = weighed()
    value = call("ADD", conv(product, 19, 19), product)
    given = reasons(value, "fuse_elementwise", "fold_gate_into_conv")
    assert given[-1] == "others need the product, too"


def test_padding_goes_into_every_convolution_that_reads_it() -> None:
    padded = pad(x(1, 7, 5, 3))
    both = [conv(padded, 19, 3, 3), depthwise(padded, 3)]
    assert operators(both, "fold_pad_into_conv") == "CONV_2D  DEPTHWISE_CONV_2D"


def scaled_and_enlarged() -> Value:
    """A transposed convolution between constants."""
    value = enlarged(call("MUL", x(2, 7, 5, 3), w(3)), 19, 3)
    return call("SUB", call("DIV", value, w(19, draw="positive")), w())


def test_transposed_convolutions_take_constants_in() -> None:
    rules = ("fold_scale_before_conv", "fold_scale_into_conv")
    assert operators(scaled_and_enlarged(), *rules) == "TRANSPOSE_CONV"


def test_convolution_and_norm_are_one_kernel() -> None:
    value = call("ADD", call("MUL", conv(x(1, 7, 5, 3), 19, 3, 3), w(19)), w(19))
    assert kernels(call("RELU", value)) == 1


def test_numbers_agree(tmp_path: Path) -> None:
    padded = pad(x(1, 7, 5, 3))
    grouped = call(
        "CONV_2D", call("MUL", x(1, 7, 5, 6), w(6)), w(8, 3, 3, 6), w(8), padding="SAME", **WINDOW
    )
    values = [value for value, _, _ in CASES.values()]
    values += [atrous("DEPTHWISE_CONV_2D"), conv(padded, 19, 3, 3), depthwise(padded, 3), grouped]
    values += [chain(first, second, 5) for first in BEFORE for second in ("MUL", "ADD")]
    values += [call("ADD", gated(33), x(1, 5, 3, 23)), gated(16), gated(size=3), gated(batches=2)]
    values += [scaled_and_enlarged(), enlarged(call("ADD", x(2, 7, 5, 3), w(3)), 19, 3)]
    values += [depthwise(call("ADD", call("MUL", x(1, 7, 5, 17), w(17)), w(17)), 17)]
    assert_agrees(values, tmp_path, *CASES)


def test_pools_see_the_zeros_of_a_pad(tmp_path: Path) -> None:
    """Maxima of negative numbers and averages at the edges tell explicit zeros from padding."""
    image = x(1, 7, 5, 3, draw="deep")
    pooling = {"padding": "VALID", "filter_height": 3, "filter_width": 3, **WINDOW}
    values = [call(name, pad(image), **pooling) for name in ("MAX_POOL_2D", "AVERAGE_POOL_2D")]
    assert_agrees(values, tmp_path, "fold_pad_into_conv")
