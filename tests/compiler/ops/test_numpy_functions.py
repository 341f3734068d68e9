"""The functions of formulas in numpy."""

import numpy as np
import pytest

from tflgpu.compiler.ops import numpy_functions
from tflgpu.compiler.ops.elementwise import ELEMENTWISE


def test_a_misspelt_function_is_named() -> None:
    assert ELEMENTWISE["ABS"].formula(numpy_functions, np.float32(-2)) == 2
    with pytest.raises(AttributeError, match=r"^no function sqrt_of in compiler/ops/numpy_functi"):
        numpy_functions.sqrt_of(np.float32(2))
