"""Layers that mix pixels, between transposes: products from the left."""

from pathlib import Path

import pytest
from agreement import assert_values
from cases.convolutions import conv, window
from devices import Way
from graphs import Value, call, transpose, w, x
from rewriting import assert_becomes, assert_declines, compiled, rewritten

from tflgpu.compiler.rewrites.layout.move_transposes import move_transposes
from tflgpu.compiler.rewrites.recognize.multiply_from_left import multiply_from_left

SWAP = (0, 1, 3, 2)
VALID = window("VALID")


def mixed(image: Value, pixels: int) -> Value:
    """A block of an MLP-Mixer, with a residual sum."""
    inner = conv(transpose(image, *SWAP), (23, pixels), (1, 1))
    outer = conv(call("GELU", inner, approximate=False), (pixels, 23), (1, 1))
    return call("ADD", transpose(outer, *SWAP), image)


def layered() -> Value:
    """Of rank 3, fully connected, to another number of pixels, without a bias."""
    swapped = transpose(call("TANH", x(2, 7, 19)), 0, 2, 1)
    layer = call("FULLY_CONNECTED", swapped, w(5, 7), None, keep_num_dims=True)
    return transpose(call("RELU", layer), 0, 2, 1)


VALUES = {
    "a block": mixed(call("EXP", x(1, 1, 37, 19)), 37),
    "rows of images": mixed(x(2, 3, 17, 33), 17),
    "few channels": mixed(x(2, 3, 7, 3), 7),
    "layers": layered(),
}


@pytest.mark.parametrize("name", VALUES)
def test_no_transpose_is_left(name: str) -> None:
    labels = " ".join(d.label.split(" -> ")[0] for d in compiled(VALUES[name]).plan.dispatches)
    assert "TRANSPOSE" not in labels and "BATCH_MATMUL + " in labels


def test_a_convolution_becomes_a_product_and_a_sum() -> None:
    source = """
        input x float32[1,1,7,5]
        constant swap int32[4] = 0, 1, 3, 2
        constant w float32[3,1,1,7]
        constant b float32[3]
        t = TRANSPOSE(x, swap)
        u = CONV_2D(t, w, b) padding=VALID stride_h=1 stride_w=1
        r = RELU(u)
        y = TRANSPOSE(r, swap)
        output y
    """
    expected = """
        y/batch_matmul1.0 = BATCH_MATMUL(y/constant1, x) adj_x=False adj_y=False
        y/add3.0 = ADD(y/batch_matmul1.0, y/constant3)
        y = RELU(y/add3.0)
    """
    assert_becomes(source, expected, multiply_from_left)


@pytest.mark.parametrize("order", [None, (0, 3, 2, 1)], ids=["no transpose", "another one"])
def test_it_declines_without_a_transpose_back(order: tuple[int, ...] | None) -> None:
    value: Value = conv(transpose(x(1, 1, 7, 5), *SWAP), (3, 7), (1, 1))
    value = value if order is None else transpose(value, *order)
    reason = "^no transpose swaps pixels and channels back$"
    assert_declines(value, reason, multiply_from_left)


def test_weights_that_are_computed_make_no_layer() -> None:
    """Nor does a bias."""
    for weights, bias in ((call("TANH", x(5, 7)), None), (w(5, 7), call("TANH", x(5)))):
        swapped = transpose(call("TANH", x(2, 7, 19)), 0, 2, 1)
        layer = call("FULLY_CONNECTED", swapped, weights, bias, keep_num_dims=True)
        graph, _ = rewritten(transpose(layer, 0, 2, 1), multiply_from_left)
        assert [op.name for op in graph.ops].count("FULLY_CONNECTED") == 1


def test_a_window_of_several_pixels_is_no_layer() -> None:
    wide = conv(transpose(x(1, 4, 7, 5), *SWAP), (3, 7), (2, 2), **VALID)
    graph, events = rewritten(transpose(wide, *SWAP), multiply_from_left)
    assert [op.name for op in graph.ops] == ["TRANSPOSE", "CONV_2D", "TRANSPOSE"]
    assert events == []


def test_numbers_agree(way: Way, tmp_path: Path) -> None:
    assert_values(VALUES, way, tmp_path)


TO_PIXELS, TO_CHANNELS = (0, 2, 3, 1), (0, 3, 1, 2)


def talking_heads(heads: int, *between: str) -> Value:
    """Scores of attention, mixed before and after what lies between."""

    def mixed_heads(value: Value, bias: Value | None) -> Value:
        layer = call("FULLY_CONNECTED", value, w(heads, heads), bias, keep_num_dims=True)
        return transpose(layer, *TO_CHANNELS)

    value: Value = mixed_heads(transpose(call("TANH", x(2, heads, 19, 21)), *TO_PIXELS), w(heads))
    for operator in between:
        value = call(operator, value, **({"beta": 1.0} if operator == "SOFTMAX" else {}))
    return mixed_heads(transpose(value, *TO_PIXELS), None)


def test_few_channels_are_mixed_where_they_lie() -> None:
    graph, _ = rewritten(talking_heads(3, "SOFTMAX"), move_transposes, multiply_from_left)
    names = ["TANH", "RESHAPE", "BATCH_MATMUL", "ADD", "RESHAPE", "SOFTMAX", "RESHAPE"]
    assert [op.name for op in graph.ops] == [*names, "BATCH_MATMUL", "RESHAPE"]
    softmax, product = graph.ops[5], graph.ops[7]
    assert softmax.output.shape == (2, 3, 19, 21) and softmax.attrs["axis"] == 3
    assert [each.shape for each in product.reads] == [(1, 3, 3), (2, 3, 399)]


def test_channels_that_fill_slices_are_moved() -> None:
    value = transpose(conv(transpose(x(1, 9, 7, 5), *TO_PIXELS), (3, 9), (1, 1)), *TO_CHANNELS)
    assert_declines(value, "^9 channels fill slices$", multiply_from_left)
    few = transpose(conv(transpose(x(1, 2, 7, 5), *TO_PIXELS), (2, 2), (1, 1)), *TO_CHANNELS)
    assert_declines(few, "^2 channels fill slices$", multiply_from_left, device="gpu")


@pytest.mark.parametrize("between", [("SOFTMAX",), (), ("RELU", "SOFTMAX")], ids=str)
def test_talking_heads_agree_with_litert(
    between: tuple[str, ...], way: Way, tmp_path: Path
) -> None:
    assert_values({"heads": talking_heads(3, *between)}, way, tmp_path)
