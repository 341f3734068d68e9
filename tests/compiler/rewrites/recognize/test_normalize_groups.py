"""Groups of channels that are normalized in another shape."""

import pytest
from cases.norms import GROUPS, cut_again, deviation, grouped, grouped_whole, layers, mean
from graphs import Value, call, reshape, w, x
from rewriting import assert_becomes, assert_declines, compiled, kernels, operators, rewritten

from tflgpu.compiler.rewrites.recognize.normalize_groups import normalize_groups
from tflgpu.compiler.rewrites.recognize.recognize_normalization import recognize_normalization

FIRST = ("4 channels", "3 channels", "5 channels", "32 channels", "channels before pixels")
BOTH = (recognize_normalization, normalize_groups)


def cut_values(*cut: int) -> Value:
    return reshape(x(1, 3, 5, 32), *cut)


def plain(values: Value, *axes: int) -> Value:
    """A norm without gain and offset."""
    centered = call("SUB", values, mean(values, axes))
    factor = deviation(call("MUL", centered, centered), axes)
    return call("MUL", centered, factor)


def test_reshapes_around_a_norm_disappear() -> None:
    expected = """
        y = tflgpu.normalization(y/in0) axes=(1,3) epsilon=0.0010000000474974513 centered=True \
shape=(1,15,4,8)
    """
    value = reshape(plain(cut_values(1, 15, 4, 8), 1, 3), 1, 3, 5, 32)
    assert_becomes(value, expected, *BOTH)


def test_groups_of_channels_that_other_axes_cut_stay_the_same() -> None:
    (normalized,) = rewritten(cut_again(), *BOTH)[0].ops
    assert normalized.operand(0).shape == (1, 4, 4, 2, 16)
    assert (normalized.attrs["shape"], normalized.attrs["axes"]) == ((16, 4, 8), (0, 2))


def test_gain_and_offset_between_the_reshapes_are_those_of_channels() -> None:
    value = grouped_whole(layers, *GROUPS["4 channels"])
    names = "tflgpu.normalization  MUL  ADD"
    assert operators(value, *BOTH) == names
    assert kernels(value) == 1


def test_factors_of_pixels_keep_the_reshapes() -> None:
    normalized = plain(cut_values(1, 15, 4, 8), 1, 3)
    value = reshape(call("MUL", normalized, w(1, 15, 1, 1)), 1, 3, 5, 32)
    assert operators(value, *BOTH) == "RESHAPE  tflgpu.normalization  MUL  RESHAPE"


@pytest.mark.parametrize("name", FIRST)
def test_gain_and_offset_are_part_of_the_kernel(name: str) -> None:
    value = grouped(layers, *GROUPS[name])
    assert kernels(value) == 1
    (kernel, *_) = compiled(value).plan.kernels
    expected = "normalization_rows" if name == "channels before pixels" else "normalization_groups"
    assert expected in kernel.file


def test_values_that_others_read_and_rows_that_stay_rows_keep_their_reshapes() -> None:
    values = cut_values(1, 15, 4, 8)
    normalized = reshape(plain(values, 1, 3), 1, 3, 5, 32)
    both = call("ADD", normalized, reshape(values, 1, 3, 5, 32))
    names = "RESHAPE  tflgpu.normalization  RESHAPE"
    assert operators(both, *BOTH) == f"{names}  RESHAPE  ADD"
    rows = reshape(plain(cut_values(15, 32), 1), 1, 3, 5, 32)
    assert operators(rows, *BOTH) == names


def test_a_number_is_no_row_of_channels() -> None:
    values = reshape(x(), 1, 1)
    scale = deviation(call("MUL", values, values), (1,))
    value = reshape(call("MUL", call("MUL", values, scale), w(1)), 1, 1, 1)
    assert operators(value, *BOTH).startswith("RESHAPE  tflgpu.normalization")


def test_ragged_rows_keep_their_reshapes_on_processors() -> None:
    ragged = reshape(plain(reshape(x(1, 5, 7, 20), 1, 35, 5, 4), 1, 3), 1, 5, 7, 20)
    assert_declines(ragged, "rows of 20 elements are not whole slices", *BOTH)
    graph, _ = rewritten(ragged, *BOTH, device="gpu")
    assert [op.name for op in graph.ops] == ["tflgpu.normalization"]
