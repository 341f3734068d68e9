"""Constants as kernels read them: numbers of few bits, halves, and what fills up slices."""

import numpy as np
import pytest

from tflgpu.compiler.devices import profile
from tflgpu.compiler.ir import Op, Tensor, Whole, constant
from tflgpu.compiler.ops.base.storage import LINEAR, SLICED, stored_array
from tflgpu.compiler.ops.layers.weights import stored_bits
from tflgpu.compiler.options import Precision
from tflgpu.compiler.target import Target


def target(precision: Precision = "f32") -> Target:
    return Target(profile("mali"), precision=precision)


@pytest.mark.parametrize(
    ("whole", "dtype", "stored", "wanted"),
    [
        (Whole(8, -128), "int8", "uint8", [[126, 129, 130, 128], [255, 0, 128, 128]]),
        (Whole(8, 0), "int8", "uint8", [[254, 1, 2, 0], [127, 128, 0, 0]]),
        (Whole(16, -300), "int8", "uint16", [[298, 301, 302, 300], [427, 172, 300, 300]]),
        (Whole(16, -300), "float32", "uint16", [[298, 301, 302, 300], [427, 172, 300, 300]]),
        (Whole(32, 0), "int32", "int32", [[-2, 1, 2, 0], [127, -128, 0, 0]]),
        (None, "int8", "float32", [[-2, 1, 2, 0], [127, -128, 0, 0]]),
    ],
)
def test_numbers_in_slices_are_stored_less_the_least(
    whole: Whole | None, dtype: str, stored: str, wanted: list[list[int]]
) -> None:
    numbers = np.array([-2, 1, 2, 0, 127, -128], dtype)
    found = stored_array(Tensor("t", (6,), content=numbers, whole=whole), SLICED, target())
    assert found.dtype == stored
    np.testing.assert_array_equal(found.reshape(2, 4), wanted)


def test_of_an_odd_number_of_slices_the_last_has_bytes_of_its_own() -> None:
    numbers = np.array([-8, 7, 0, 1, 2, 3, 4, 5, -1, -2, -3, -4], np.int8)
    found = stored_array(Tensor("t", (12,), content=numbers, whole=Whole(4, -8)), SLICED, target())
    assert found.tolist() == [[0xA0, 0xBF, 0xC8, 0xD9], [7, 6, 5, 4]]


def test_floats_are_halves_where_the_precision_says_so() -> None:
    floats = constant("t", np.array([0.1, 2, 3], np.float32))
    dtypes: dict[Precision, str] = {"f32": "float32", "f16": "float16"}
    for precision, dtype in dtypes.items():
        rows = stored_array(floats, LINEAR, target(precision))
        assert rows.dtype == dtype
        np.testing.assert_array_equal(rows, floats.values.astype(dtype))
    integers = constant("t", np.array([1, 2], np.int64))
    assert stored_array(integers, LINEAR, target("f16")).dtype == np.int32


@pytest.mark.parametrize(
    ("numbers", "bits"),
    [([-8, 7], 4), ([-9, 7], 8), ([-8, 8], 8), ([-128, 127], 8), ([-129, 0], None), ([128], None)],
)
def test_weights_have_as_few_bits_as_hold_them(numbers: list[int], bits: int | None) -> None:
    weights = constant("w", np.array([numbers], np.float32))
    x, y = Tensor("x", (1, len(numbers))), Tensor("y", (1, 1))
    for exact, wanted in ((True, bits), (False, None)):
        op = Op("FULLY_CONNECTED", (x, weights, None), (y,), {"exact": exact})
        assert stored_bits(op) == wanted
