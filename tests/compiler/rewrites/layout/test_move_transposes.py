"""Transposes that cancel around operators whose axes can have any order."""

from pathlib import Path

import pytest
from graphs import Value, call, ints, number, parts, table, transpose, w, x
from graphs.channels_first import FIRST, LAST, conv_channels_first
from rewriting import assert_agrees, assert_becomes, assert_declines, compiled, operators, rewritten

from tflgpu.compiler.devices import profile
from tflgpu.compiler.rewrites.layout.fold_transposes import fold_transpose_into_reduction
from tflgpu.compiler.rewrites.layout.merge_moves import drop_identity, merge_transposes
from tflgpu.compiler.rewrites.layout.move_transposes import move_transposes
from tflgpu.compiler.target import Target

SWAP_IMAGE = (0, 2, 1, 3)
SWAP_LAST = (0, 1, 3, 2)  # Permutations that are their own inverse.


def network() -> Value:
    """Residual, with an affine step, a concatenation, a mean and padding between convolutions."""
    image = transpose(x(2, 5, 7, 3), *FIRST)
    first = call("RELU", call("MUL", conv_channels_first(image, 5, 3), w(5, 1, 1)))
    second = call("ADD", conv_channels_first(first, 5, 5), first)
    gate = call("LOGISTIC", call("MEAN", second, ints(2, 3), keep_dims=True))
    both = call("CONCATENATION", call("MUL", second, gate), first, axis=1)
    padded = call("PAD", both, table((0, 0), (0, 2), (1, 0), (0, 3)))
    return transpose(conv_channels_first(padded, 3, 12), *LAST)


def mirrored() -> Value:
    """With a transpose that starts and ends at operators around it."""
    first = call("RELU", transpose(x(2, 5, 5, 3), *SWAP_IMAGE))
    second = call("TANH", transpose(first, *SWAP_IMAGE))
    return transpose(call("ADD", first, second), *SWAP_IMAGE)


def permutable() -> dict[str, Value]:
    """Each operator that can run with permuted axes, between transposes that then cancel."""
    image = transpose(x(2, 5, 7, 6), *FIRST)
    pads = table((0, 0), (1, 0), (2, 1), (0, 3))
    masks = {"begin_mask": 0b0101, "end_mask": 0b1001}
    begin, end, step = ints(1, 1, 9, 5), ints(2, 4, 5, 1), ints(1, 2, 1, -2)
    values: dict[str, Value] = {
        "MIRROR_PAD": call("MIRROR_PAD", image, pads, mode="SYMMETRIC"),
        "PADV2": call("PADV2", image, pads, number(3)),
        "SLICE": call("SLICE", image, ints(1, 2, 0, 3), ints(1, -1, 4, 2)),
        "SOFTMAX": call("SOFTMAX", image, beta=0.5),
        "SPLIT": call("MAXIMUM", *parts("SPLIT", 2, ints(1), image, num_splits=2)),
        "SPLIT_V": parts("SPLIT_V", 2, image, ints(2, 3), ints(-2), num_splits=2)[1],
        "STRIDED_SLICE": call("STRIDED_SLICE", image, begin, end, step, **masks),
        "SUM": call("SUM", image, ints(-2), keep_dims=True),
        "TILE": call("TILE", image, ints(1, 2, 1, 3)),
    }
    return {name: transpose(value, *LAST) for name, value in values.items()}


def softmaxes() -> Value:
    """Over rows and over channels of a feature map with channels first."""
    image = conv_channels_first(transpose(x(2, 5, 7, 3), *FIRST), 6, 3)
    channels = call("SOFTMAX", transpose(image, *LAST), beta=1.0)
    rows = call("SOFTMAX", transpose(transpose(channels, *FIRST), *SWAP_LAST), beta=1.0)
    return transpose(conv_channels_first(transpose(rows, *SWAP_LAST), 4, 6), *LAST)


def halves() -> Value:
    """Both read the same transpose, and are joined after a convolution of one of them."""
    image = conv_channels_first(transpose(x(2, 5, 7, 3), *FIRST), 8, 3)
    first = call("SLICE", image, ints(0, 0, 0, 0), ints(2, 4, 5, 7))
    second = call("SLICE", image, ints(0, 4, 0, 0), ints(2, 4, 5, 7))
    mean = call("MEAN", image, ints(2, 3), keep_dims=True)
    convolved = conv_channels_first(first, 4, 4)
    joined = call("CONCATENATION", convolved, call("MUL", second, w()), axis=1)
    return transpose(conv_channels_first(call("ADD", joined, mean), 3, 8), *LAST)


def test_a_channels_first_network_keeps_no_transpose() -> None:
    expected = "CONV_2D  MUL  RELU  CONV_2D  ADD  MEAN  LOGISTIC  MUL  CONCATENATION  PAD  CONV_2D"
    assert operators(network()).count("TRANSPOSE") == 8
    assert operators(network(), move_transposes, merge_transposes, drop_identity) == expected
    assert "TRANSPOSE" not in " ".join(d.label for d in compiled(network()).plan.dispatches)


def test_a_pair_of_operators_between_transposes() -> None:
    source = """
        input x float32[2,3,5,7]
        input z float32[2,3,5,7]
        constant first int32[4] = 0, 3, 1, 2
        constant last int32[4] = 0, 2, 3, 1
        a = TRANSPOSE(x, first)
        b = TRANSPOSE(z, first)
        s = SUB(a, b)
        t = TANH(s)
        y = TRANSPOSE(t, last)
        output y
    """
    expected = """
        s/turned = SUB(x, z)
        t/turned = TANH(s/turned)
    """
    assert_becomes(source, expected, move_transposes)


def test_a_transpose_inside_a_region_stays() -> None:
    assert operators(mirrored(), move_transposes) == "RELU  TRANSPOSE  TANH  ADD"


def test_a_transpose_stays_if_only_its_place_would_change() -> None:
    value = transpose(x(2, 3, 5, 7), *FIRST)
    reason = "^210 values instead of 210 would be transposed$"
    assert_declines(call("TANH", value), reason, move_transposes)
    reason = "^420 values instead of 210 would be transposed$"
    assert_declines(call("ADD", value, x(2, 7, 3, 5)), reason, move_transposes)


@pytest.mark.parametrize("name", permutable())
def test_an_operator_runs_with_permuted_axes(name: str) -> None:
    value = permutable()[name]
    assert operators(value, move_transposes) == operators(value).replace("TRANSPOSE", "").strip()


def test_a_slice_that_drops_an_axis_stays() -> None:
    image = transpose(x(2, 5, 7, 6), *FIRST)
    starts = ints(0, 1, 0, 0), ints(2, 2, 5, 7), ints(1, 1, 1, 1)
    dropped = call("STRIDED_SLICE", image, *starts, shrink_axis_mask=2)
    assert operators(dropped, move_transposes) == "TRANSPOSE  STRIDED_SLICE"


def test_a_softmax_moves_to_another_axis() -> None:
    labels = [d.label.split(" -> ")[0] for d in compiled(softmaxes()).plan.dispatches]
    assert labels == ["CONV_2D", "SOFTMAX", "SOFTMAX", "CONV_2D"]
    source = """
        input x float32[2,3,5]
        constant there int32[3] = 1, 2, 0
        constant back int32[3] = 2, 0, 1
        t = TRANSPOSE(x, there)
        s = SOFTMAX(t) beta=1.0
        y = TRANSPOSE(s, back)
        output y
    """
    assert_becomes(source, "s/turned = SOFTMAX(x) beta=1.0 axis=0", move_transposes)


def test_a_softmax_stays_along_rows_if_few_are_beside_each_other() -> None:
    image = transpose(x(2, 50, 7, 4), *FIRST)
    value = transpose(call("SOFTMAX", transpose(image, *SWAP_LAST), beta=1.0), *SWAP_LAST)
    back = transpose(value, *LAST)
    assert_declines(back, "values instead of 5600 would be transposed", move_transposes)
    assert operators(back, move_transposes) == "TRANSPOSE  TRANSPOSE  SOFTMAX  TRANSPOSE  TRANSPOSE"
    graph, _ = rewritten(back, merge_transposes, move_transposes, device="gpu")
    assert [op.name for op in graph.ops] == ["SOFTMAX"]


def test_readers_of_one_transpose_move_together() -> None:
    passes = (move_transposes, merge_transposes, drop_identity)
    assert "TRANSPOSE" not in operators(halves(), *passes)
    image = transpose(x(2, 5, 7, 6), *FIRST)
    both = [transpose(call("TANH", image), *LAST), call("MEAN", image, ints(2, 3), keep_dims=False)]
    found = operators(both, move_transposes, fold_transpose_into_reduction)
    assert found in ("MEAN  RESHAPE  TANH", "TANH  MEAN  RESHAPE")


def test_fewer_transposes_of_as_many_values() -> None:
    both = [transpose(x(2, 3, 5, 7), *FIRST), transpose(x(2, 3, 5, 4), *FIRST)]
    value = call("CONCATENATION", *both, axis=1)
    assert operators(value, move_transposes) == "CONCATENATION  TRANSPOSE"


def test_numbers_agree(tmp_path: Path) -> None:
    one = call("TANH", call("ADD", transpose(x(2, 3, 5, 7), *FIRST), x(2, 7, 3, 5)))
    values = (network(), mirrored(), one, *permutable().values(), softmaxes(), halves())
    assert_agrees(tmp_path, *values)


def test_events_name_operators_of_one_origin_in_the_same_order_each_time() -> None:
    """What one operator was decomposed into shares its index; a plan holds the events."""

    def order() -> list[tuple[str, ...]]:
        graph, _ = rewritten(network())
        for op in graph.ops:
            op.index = 0
        return [event.operators for event in move_transposes(graph, Target(profile("gpu")))]

    assert len({tuple(order()) for _ in range(9)}) == 1
