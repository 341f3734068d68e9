"""The functions of formulas in numpy."""

import numpy as np
import pytest

from tflgpu.compiler.ops.elementwise import numpy_functions
from tflgpu.compiler.ops.elementwise.elementwise import ELEMENTWISE


def test_a_misspelt_function_is_named() -> None:
    assert ELEMENTWISE["ABS"].formula(numpy_functions, np.float32(-2)) == 2
    with pytest.raises(AttributeError, match=r"^no function sqrt_of in .*/numpy_functions.py"):
        numpy_functions.sqrt_of(np.float32(2))
