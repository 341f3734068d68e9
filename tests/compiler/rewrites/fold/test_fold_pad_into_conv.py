"""Explicit padding before convolutions."""

from pathlib import Path

import pytest
from cases.convolutions import conv, window
from graphs import Value, call, number, table, w, x
from rewriting import assert_agrees, assert_becomes, assert_declines, operators

from tflgpu.compiler.ops import OPS
from tflgpu.compiler.rewrites.fold.fold_pads import fold_pad_into_conv

VALID = window("VALID")
POOL = {"padding": "VALID", "filter_height": 3, "filter_width": 3, "stride_h": 1, "stride_w": 1}


def padded(image: Value, fill: float = 0.0, batch: int = 0, channels: int = 0) -> Value:
    pairs = table((batch, 0), (1, 2), (2, 1), (channels, 0))
    return call("PADV2", image, pairs, number(fill))


def weighted(image: Value, weights: Value) -> Value:
    return call("CONV_2D", image, weights, None, **VALID)


def depthwise(image: Value) -> Value:
    attrs = {**VALID, "depth_multiplier": 1}
    return call("DEPTHWISE_CONV_2D", image, w(1, 3, 3, 3), w(3), **attrs)


@pytest.mark.parametrize(
    ("operator", "weights"), [("CONV_2D", "11,3,3,3"), ("DEPTHWISE_CONV_2D", "1,3,3,3")]
)
@pytest.mark.parametrize(
    ("padding", "folded"), [("VALID", "((1,2),(0,3))"), ("SAME", "((2,3),(1,4))")]
)
def test_padding_becomes_that_of_the_convolution(
    operator: str, weights: str, padding: str, folded: str
) -> None:
    source = f"""
        input x float32[2,5,7,3]
        constant pairs int32[4,2] = 0, 0, 1, 2, 0, 3, 0, 0
        constant w float32[{weights}]
        p = PAD(x, pairs)
        y = {operator}(p, w) padding={padding} stride_h=1 stride_w=1
        output y
    """
    expected = f"y = {operator}(x, w) padding={folded} stride_h=1 stride_w=1"
    graph = assert_becomes(source, expected, fold_pad_into_conv)
    assert OPS[operator].infer(graph.ops[0]) == [graph.outputs[0].shape]


def test_padding_goes_into_every_convolution_that_reads_it() -> None:
    image = padded(x(1, 7, 5, 3))
    both = [conv(image, (19, 3), **VALID), depthwise(image)]
    assert operators(both, fold_pad_into_conv) == "CONV_2D  DEPTHWISE_CONV_2D"


def kept() -> list[Value]:
    """The padding is an output of the model, too."""
    image = padded(x(1, 7, 5, 3))
    return [conv(image, (19, 3), **VALID), image]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (
            conv(padded(x(1, 7, 5, 3), batch=1), (19, 3), **VALID),
            "it pads the batch or the channels",
        ),
        (
            conv(padded(x(1, 7, 5, 3), channels=1), (19, 4), **VALID),
            "it pads the batch or the channels",
        ),
        (conv(padded(x(1, 7, 5, 3), 1.5), (19, 3), **VALID), "it pads with 1.5"),
        (conv(padded(x(1, 7, 5, 3), -2.5), (19, 3), **VALID), "it pads with -2.5"),
        (
            call("MAX_POOL_2D", padded(x(1, 7, 5, 3)), **POOL),
            "it is not read by convolutions alone, but also by MAX_POOL_2D",
        ),
        (kept(), "it is not read by convolutions alone, but also by the model's output"),
        (
            weighted(x(1, 9, 9, 3), padded(x(5, 4, 4, 3))),
            "a convolution does not read it as its feature map",
        ),
    ],
    ids=["batch", "channels", "positive", "negative", "pool", "output", "weights"],
)
def test_it_declines(value: Value | list[Value], reason: str) -> None:
    assert_declines(value, f"^{reason}$", fold_pad_into_conv)


def test_numbers_agree(tmp_path: Path) -> None:
    image = padded(x(1, 7, 5, 3))
    values = [conv(image, (19, 3), **VALID), depthwise(image)]
    assert_agrees(tmp_path, *values, off=[fold_pad_into_conv])


def test_pools_count_the_zeros_of_a_pad(tmp_path: Path) -> None:
    """Maxima of negative numbers and averages at the edges tell zeros from padding."""
    image = padded(x(1, 7, 5, 3, draw="deep"))
    values = [call(name, image, **POOL) for name in ("MAX_POOL_2D", "AVERAGE_POOL_2D")]
    assert_agrees(tmp_path, *values, off=[fold_pad_into_conv])
