"""Factors per channel in the 1x1 convolutions that read the product."""

from pathlib import Path

import pytest
from cases.convolutions import conv, depthwise, window
from graphs import Value, call, ints, w, x
from rewriting import assert_agrees, assert_becomes, assert_declines, compiled, operators, reasons

from tflgpu.compiler.rewrites.fuse.fuse_elementwise import fuse_elementwise
from tflgpu.compiler.rewrites.fuse.fuse_pointwise import fold_gate_into_conv

POINT = window("VALID")


def excited(channels: int = 19, batches: int = 1, rows: int = 7, columns: int = 5) -> Value:
    """Channels times a function of their means: squeeze-and-excite."""
    image = depthwise(x(batches, rows, columns, channels))
    mean = call("MEAN", image, ints(1, 2), keep_dims=True)
    return call("MUL", image, call("LOGISTIC", conv(mean, (channels, channels), (1, 1))))


def gated(channels: int = 19, size: int = 1, batches: int = 1) -> Value:
    """Squeeze-and-excite, and the convolution after it."""
    return conv(excited(channels, batches), (23, channels), (size, size))


def test_the_convolution_multiplies_what_it_reads() -> None:
    before = "DEPTHWISE_CONV_2D  MEAN  CONV_2D  LOGISTIC  MUL  CONV_2D"
    after = "DEPTHWISE_CONV_2D  MEAN  CONV_2D  LOGISTIC  CONV_2D"
    assert operators(gated()) == before
    assert operators(gated(), fold_gate_into_conv) == after


@pytest.mark.parametrize("product", ["MUL(x, g)", "MUL(g, x)"])
def test_the_gate_is_the_fourth_operand(product: str) -> None:
    source = f"""
        input x float32[1,7,5,19]
        input g float32[1,1,1,19]
        constant w float32[23,1,1,19]
        constant b float32[23]
        t = {product}
        y = CONV_2D(t, w, b) padding=VALID stride_h=1 stride_w=1
        output y
    """
    expected = "y = CONV_2D(x, w, b, g) padding=VALID stride_h=1 stride_w=1"
    assert_becomes(source, expected, fold_gate_into_conv)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (gated(size=3), "the convolution is not 1x1 with constant weights"),
        (gated(batches=2), "the other factor is not one value per channel, or the batch is not 1"),
        (
            conv(call("MUL", x(1, 7, 5, 3), w(3)), (5, 3), (1, 1)),
            "a factor is a constant, or both broadcast",
        ),
        (
            call(
                *("CONV_2D", x(1, 7, 5, 3), call("MUL", x(5, 1, 1, 3), x(1, 1, 1, 3)), w(5)),
                **POINT,
            ),
            "the convolution does not read the product as its feature map",
        ),
    ],
    ids=["3x3", "batch", "constant", "weights"],
)
def test_it_declines(value: Value, reason: str) -> None:
    assert_declines(value, f"^{reason}$", fold_gate_into_conv)


def test_a_product_that_the_epilogue_reads_stays() -> None:
    product = excited()
    value = call("ADD", conv(product, (19, 19), (1, 1)), product)
    given = reasons(value, fuse_elementwise, fold_gate_into_conv)
    assert given[-1] == "the convolution's epilogue also reads the product"


def test_wide_tiles_multiply_their_weights(tmp_path: Path) -> None:
    """These are fewer than the pixels then, and the factors need no registers beside the sums."""
    value = conv(excited(10, rows=96, columns=96), (23, 10), (1, 1))
    made = compiled(value, "gpu")
    (source,) = (text for text in made.sources.values() if "gate: reads" in text)
    assert "* factors.w;" in source and "* gate" not in source
    assert_agrees(tmp_path, value, off=[fold_gate_into_conv])


def test_tiles_of_several_slices_use_the_factors() -> None:
    value = conv(excited(16, rows=64, columns=64), (16, 16), (1, 1))
    made = compiled(value, "llvmpipe")
    (source,) = (text for text in made.sources.values() if "gate: reads" in text)
    assert "float4 v[" in source and "* factors.w;" in source


def test_numbers_agree(tmp_path: Path) -> None:
    residual = call("ADD", gated(33), x(1, 7, 5, 23))
    values = [gated(), residual, gated(16), gated(size=3), gated(batches=2)]
    assert_agrees(tmp_path, *values, off=[fold_gate_into_conv])
