"""Forms of operators that are refused, each with the reason."""

import pytest
from graphs import parsed

from tflgpu.compiler import Options, build
from tflgpu.runtime.errors import TflgpuError

REFUSED = {
    "ids computed": (
        """
        input x float32[7,5]
        input i int32[7] places
        y = SEGMENT_SUM(x, i)
        """,
        "input 1 .i. is computed while the model runs",
    ),
    "an id too large": (
        """
        input x float32[3]
        constant i int32[3] = 0, 3, 1
        constant n int32[] = 3
        y = UNSORTED_SEGMENT_SUM(x, i, n)
        """,
        "an id is not below the 3 segments",
    ),
    "ids not in order": (
        """
        input x float32[3]
        constant i int32[3] = 0, 3, 1
        y = SEGMENT_SUM(x, i)
        """,
        "its ids are negative, not in order, or missing",
    ),
    "ids of other rows": (
        """
        input x float32[3,2]
        constant i int32[2] = 0, 1
        y = SEGMENT_SUM(x, i)
        """,
        r"ids \[2\] do not match rows of \[3, 2\]",
    ),
    "indices computed": (
        """
        input i int32[3] places
        constant s int32[1] = 5
        input v float32[3]
        constant d float32[] = 0
        y = SPARSE_TO_DENSE(i, s, v, d)
        """,
        "input 0 .i. is computed while the model runs",
    ),
    "an index out of range": (
        """
        constant i int32[3] = 0, 5, 1
        constant s int32[1] = 5
        input v float32[3]
        constant d float32[] = 0
        y = SPARSE_TO_DENSE(i, s, v, d)
        """,
        r"an index is out of range for \[5\]",
    ),
    "boundaries not in order": (
        """
        input x float32[3]
        y = BUCKETIZE(x) boundaries=(1.0,0.5)
        """,
        "its boundaries are missing or not in order",
    ),
    "a diagonal of another size": (
        """
        input x float32[3,5]
        input d float32[5]
        y = MATRIX_SET_DIAG(x, d)
        """,
        r"\[5\] is not the diagonal of \[3, 5\]",
    ),
    "a range without zero": (
        """
        input x float32[3]
        y = FAKE_QUANT(x) min=1.0 max=2.0 num_bits=8
        """,
        "not one of numbers around 0: 1.0 to 2.0",
    ),
    "a dilation of 0": (
        """
        input x float32[3]
        constant s int32[1] = 0
        constant v float32[] = 0
        y = DILATE(x, s, v)
        """,
        r"dilations \[0\]",
    ),
    "an unknown function": (
        """
        input x float32[3]
        constant v float32[] = 0
        constant one int64[1] = 1
        y = REDUCE_WINDOW(x, v, one, one, one) reduce_function=UNSUPPORTED
        """,
        "its function is unknown",
    ),
    "channels that do not match": (
        """
        constant s int32[5] = 1, 2, 2, 2, 3
        constant w float32[1,1,1,3,4]
        input x float32[1,2,2,2,5]
        y = CONV_3D_TRANSPOSE(s, w, x) padding=SAME
        """,
        "do not give the shape",
    ),
}


@pytest.mark.parametrize("form", REFUSED)
def test_they_are_refused(form: str) -> None:
    source, reason = REFUSED[form]
    with pytest.raises(TflgpuError, match=reason):
        build(parsed(f"{source}\n output y").content, Options(fallback="none"))
