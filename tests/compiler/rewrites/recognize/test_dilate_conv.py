"""Convolutions between blocks: dilated convolutions as TensorFlow once wrote them."""

from pathlib import Path

import pytest
from cases.convolutions import conv, window
from graphs import Value, call, ints, table, w, x
from rewriting import assert_agrees, assert_becomes, assert_declines, operators

from tflgpu.compiler.rewrites.recognize.dilate_conv import dilate_conv

VALID = window("VALID")
POINT = (1, 1)
TWOS = ints(2, 2)


def spread(image: Value, rows: tuple[int, int], columns: tuple[int, int]) -> Value:
    return call("SPACE_TO_BATCH_ND", image, TWOS, table(rows, columns))


def gather(image: Value, rows: tuple[int, int], columns: tuple[int, int]) -> Value:
    return call("BATCH_TO_SPACE_ND", image, TWOS, table(rows, columns))


def atrous(operator: str) -> Value:
    """A 3x3 convolution with dilation 2 and the padding of SAME."""
    batches = spread(x(1, 7, 11, 5), (2, 3), (2, 3))
    if operator == "CONV_2D":
        inner = conv(batches, (19, 5), **VALID)
    else:
        taps = w(1, 3, 3, 5), w(5)
        inner = call(operator, batches, *taps, **VALID, depth_multiplier=1)
    return gather(call("RELU6", inner), (0, 1), (0, 1))


def test_the_convolution_reads_the_image() -> None:
    assert operators(atrous("CONV_2D")) == "SPACE_TO_BATCH_ND  CONV_2D  RELU6  BATCH_TO_SPACE_ND"
    assert operators(atrous("CONV_2D"), dilate_conv) == "CONV_2D  RELU6"


def test_the_padding_is_what_is_padded_less_what_is_cropped() -> None:
    source = """
        input x float32[1,7,11,5]
        constant block int32[2] = 2, 2
        constant pads int32[2,2] = 2, 3, 2, 3
        constant crops int32[2,2] = 0, 1, 0, 1
        constant w float32[19,3,3,5]
        constant s float32[19]
        t = SPACE_TO_BATCH_ND(x, block, pads)
        c = CONV_2D(t, w) padding=VALID stride_h=1 stride_w=1
        m = MUL(c, s)
        y = BATCH_TO_SPACE_ND(m, block, crops)
        output y
    """
    expected = """
        c = CONV_2D(x, w) padding=((2,2),(2,2)) stride_h=1 stride_w=1 \
dilation_h_factor=2 dilation_w_factor=2
        y = MUL(c, s)
    """
    graph = assert_becomes(source, expected, dilate_conv)
    assert graph.ops[0].output.shape == graph.outputs[0].shape == (1, 7, 11, 19)


NONE = (0, 0)
EVEN = x(1, 7, 5, 3)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (
            gather(
                conv(spread(EVEN, (1, 0), (0, 1)), (5, 3), POINT, **window("VALID", (2, 2))),
                *(NONE, NONE),
            ),
            "the convolution has a stride or dilation",
        ),
        (
            gather(conv(spread(EVEN, (1, 0), (0, 1)), (5, 3), POINT, **VALID), (2, 0), NONE),
            "the crops exceed the padding",
        ),
        (
            conv(spread(EVEN, (1, 0), (0, 1)), (5, 3), POINT, **VALID),
            "no BATCH_TO_SPACE_ND follows",
        ),
        (
            call(
                "BATCH_TO_SPACE_ND",
                conv(spread(x(2, 8, 4, 3), NONE, NONE), (5, 3), POINT, **VALID),
                *(ints(4, 1), table(NONE, NONE)),
            ),
            "the block sizes before and after differ",
        ),
        (
            call("CONV_2D", x(1, 4, 4, 5), spread(x(1, 6, 2, 5), NONE, NONE), w(4), **VALID),
            "the convolution does not read the blocks as its feature map",
        ),
    ],
    ids=["stride", "crops", "no gather", "blocks", "weights"],
)
def test_it_declines(value: Value, reason: str) -> None:
    assert_declines(value, f"^{reason}$", dilate_conv)


def test_numbers_agree(tmp_path: Path) -> None:
    values = [atrous("CONV_2D"), atrous("DEPTHWISE_CONV_2D")]
    assert_agrees(tmp_path, *values, off=[dilate_conv])
