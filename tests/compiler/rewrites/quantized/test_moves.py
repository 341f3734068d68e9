"""Operators that move integers leave them as they are."""

from typing import Any

import numpy as np
import pytest
from quantized_operators import computed_at_run_time, evaluated, lowered, quantized

from tflgpu.compiler import UnsupportedError
from tflgpu.compiler.ir import Array, Quantization, Tensor, constant

IMAGE = np.random.default_rng(9).integers(-128, 128, (2, 4, 6, 3)).astype(np.int8)


def ints(name: str, *values: Any) -> Tensor:
    return constant(name, np.array(values, np.int32))


MOVES: dict[str, tuple[tuple[Tensor, ...], dict[str, Any], Array]] = {
    "RESHAPE": ((), {"new_shape": (8, 18)}, IMAGE.reshape(8, 18)),
    "TRANSPOSE": ((ints("order", 0, 3, 1, 2),), {}, IMAGE.transpose(0, 3, 1, 2)),
    "SLICE": ((ints("begin", 0, 1, 2, 0), ints("size", 2, 3, -1, 2)), {}, IMAGE[:, 1:4, 2:, :2]),
    "TILE": ((ints("times", 1, 2, 1, 3),), {}, np.tile(IMAGE, (1, 2, 1, 3))),
}


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("zero", [17, -128])
def test_integers_are_moved(name: str, zero: int) -> None:
    operands, attrs, expected = MOVES[name]
    found = evaluated(name, quantized("x", IMAGE, 0.05, zero), *operands, zero=zero, **attrs)
    np.testing.assert_array_equal(found, expected)


def test_padding_is_the_zero_point() -> None:
    pads = ints("pads", (0, 0), (1, 0), (0, 2), (0, 0))
    found = evaluated("PAD", quantized("x", IMAGE, 0.05, 17), pads, scale=0.05, zero=17)
    expected = np.pad(IMAGE, [(0, 0), (1, 0), (0, 2), (0, 0)], constant_values=17)
    np.testing.assert_array_equal(found, expected)


def test_integers_are_kept_whatever_they_stand_for() -> None:
    """LiteRT copies them, even where the file gives the result another zero point."""
    operands, attrs, expected = MOVES["RESHAPE"]
    found = evaluated("RESHAPE", quantized("x", IMAGE, 0.05, 17), *operands, zero=-3, **attrs)
    np.testing.assert_array_equal(found, expected)


def test_they_move_as_floats() -> None:
    source = computed_at_run_time(quantized("x", IMAGE, 0.05, 17))
    graph = lowered("TRANSPOSE", source, ints("order", 0, 3, 1, 2), scale=0.05, zero=17)
    assert [op.name for op in graph.ops] == [
        "tflgpu.to_centered",
        "TRANSPOSE",
        "tflgpu.from_centered",
    ]
    assert graph.ops[1].output.dtype == "float32"


def test_a_joined_tensor_is_rescaled_unless_it_is_quantized_alike() -> None:
    x, z = quantized("x", IMAGE, 0.05, 17), quantized("z", IMAGE, 0.02, -9)
    found = evaluated("CONCATENATION", x, z, scale=0.05, zero=17, axis=3)
    np.testing.assert_array_equal(found[..., :3], IMAGE)
    exact = (IMAGE.astype(np.float64) + 9) * 0.02 / 0.05 + 17
    assert np.abs(found[..., 3:] - np.clip(exact, -128, 127)).max() <= 0.5 + 1e-3


@pytest.mark.parametrize(
    ("shape", "axis", "reason"),
    [
        ((4, 7), 0, "a row of table w has 7 numbers of int4"),
        ((4, 6), 1, "it computes int4, of which only"),
    ],
)
def test_integers_of_4_bits_that_share_their_bytes_are_declined(
    shape: tuple[int, ...], axis: int, reason: str
) -> None:
    table = Tensor("w", shape, "int4", np.ones(shape, np.int8), Quantization((0.5,), (0,)))
    rows = Tensor("rows", (3,), "int32")
    with pytest.raises(UnsupportedError, match=f"operator 0 GATHER: {reason}"):
        lowered("GATHER", table, rows, axis=axis, batch_dims=0)


@pytest.mark.parametrize("dtype", ["int4", "int2"])
@pytest.mark.parametrize("name", ["ADD", "CONCATENATION", "RELU"])
def test_packed_integers_are_computed_by_no_operator(name: str, dtype: str) -> None:
    table = Tensor("w", (4, 8), dtype, np.ones((4, 8), np.int8), Quantization((0.5,), (0,)))
    operands = (table,) if name == "RELU" else (table, table)
    with pytest.raises(UnsupportedError, match=f"operator 0 {name}: it computes {dtype}, of which"):
        lowered(name, *operands, dtype=dtype, axis=0)
