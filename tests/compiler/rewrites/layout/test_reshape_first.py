"""Which reshapes can be swapped with the transpose before them."""

import numpy as np
import pytest

from tflgpu.compiler.ir import Shape
from tflgpu.compiler.rewrites.layout.around_reshapes import reshape_first


@pytest.mark.parametrize(
    ("source", "order", "result", "expected"),
    [
        ((1, 5, 7, 3), (0, 3, 1, 2), (1, 3, 35), ((1, 35, 3), (0, 2, 1))),
        ((2, 5, 7, 6), (0, 3, 1, 2), (2, 2, 3, 5, 7), ((2, 5, 7, 2, 3), (0, 3, 4, 1, 2))),
        ((1, 5, 3), (0, 2, 1), (3, 5, 1), ((5, 3, 1), (1, 0, 2))),
        ((4, 6), (1, 0), (3, 2, 4), ((4, 3, 2), (1, 2, 0))),
        ((5, 7, 3), (2, 0, 1), (105,), None),
        ((4, 6), (1, 0), (4, 6), None),
        ((1, 1), (1, 0), (1,), None),
        ((0, 3), (1, 0), (0,), None),
    ],
)
def test_a_reshape_before_the_transpose(
    source: Shape, order: Shape, result: Shape, expected: tuple[Shape, Shape] | None
) -> None:
    assert reshape_first(source, order, result) == expected
    if expected is not None:
        values = np.arange(np.prod(source)).reshape(source)
        swapped = values.reshape(expected[0]).transpose(expected[1])
        np.testing.assert_array_equal(swapped, values.transpose(order).reshape(result))
