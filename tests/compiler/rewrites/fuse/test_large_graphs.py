"""Large elementwise graphs become kernels of bounded size, in time in proportion to their size."""

import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from agreement import run
from graphs.operators import file_of

from tflgpu.compiler import Options, build
from tflgpu.compiler.ir import Op, Tensor
from tflgpu.compiler.rewrites.fuse.fuse_elementwise import MOST

SHAPE = (1, 8)


def long_lived(count: int) -> bytes:
    """A chain of which every value is read again, in reverse."""
    values, ops = [Tensor("x", SHAPE)], []
    for index in range(count // 2):
        values.append(Tensor(f"a{index}", SHAPE))
        ops.append(Op(("ABS", "NEG")[index % 2], (values[-2],), (values[-1],)))
    total = values[-1]
    for index in range(count // 2):
        result = Tensor(f"b{index}", SHAPE)
        ops.append(Op("MAXIMUM", (total, values[-2 - index]), (result,)))
        total = result
    return file_of(*ops)


def chain(count: int) -> bytes:
    values = [Tensor("x", SHAPE), *(Tensor(f"a{index}", SHAPE) for index in range(count))]
    return file_of(*(Op("SIN", (value,), (result,)) for value, result in pairwise(values)))


def joined(count: int) -> bytes:
    """Equal chains whose results are all joined by one operator."""
    first = Tensor("x", SHAPE)
    values = [Tensor(f"a{index}", SHAPE) for index in range(count - 1)]
    ops = (
        Op("SIN", (values[index - 1] if index % 5 else first,), (value,))
        for index, value in enumerate(values)
    )
    return file_of(*ops, Op("CONCATENATION", values, (Tensor("y", (count - 1, 8)),), {"axis": 0}))


@pytest.mark.parametrize("made", [long_lived, chain])
def test_kernels_have_a_bounded_number_of_operators(made: object) -> None:
    assert callable(made)
    compiled = build(made(500), Options(device="cpu", fallback="none"))
    most = max(dispatch.label.count(" + ") + 1 for dispatch in compiled.plan.dispatches)
    assert MOST // 2 < most <= MOST


def test_values_that_cross_kernels(opencl_device: str, tmp_path: Path) -> None:
    compiled = build(long_lived(400), Options(device="cpu", fallback="none"))
    x = np.linspace(-4, 3, 8, dtype=np.float32).reshape(SHAPE)
    (result,) = run(compiled, opencl_device, tmp_path, {"x": x}).values()
    np.testing.assert_array_equal(result, np.abs(x))


@pytest.mark.parametrize("made", [long_lived, chain, joined])
def test_time_is_in_proportion(made: object) -> None:
    """Four times the operators take less than ten times as long; squared would be sixteen."""
    assert callable(made)

    def seconds(count: int) -> float:
        content, start = made(count), time.process_time()
        build(content, Options(device="cpu", fallback="none"))
        return time.process_time() - start

    seconds(50)
    assert seconds(1200) < 10 * seconds(300)
