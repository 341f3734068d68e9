"""Operators that the GPU delegate of LiteRT computes wrongly: graphs for each defect."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from agreement import assert_cases
from cases import Case
from devices import Way, ways
from graphs import Value, call, ints, known, model, parts, typed, w, x, xi

from tflgpu.compiler import Options, pipeline

IMAGE = (2, 5, 7, 19)

WINDOW = {"padding": "VALID", "stride_h": 1, "stride_w": 1}

POOL = {**WINDOW, "filter_height": 3, "filter_width": 3}

BORDER = [[0, 0], [1, 1], [1, 1], [0, 0]]


def floors() -> Iterator[Value]:
    """FLOOR, FLOOR_DIV and FLOOR_MOD were accepted, but had no kernel in OpenCL."""
    yield call("FLOOR", x(*IMAGE, draw="wide"))
    yield call("FLOOR_DIV", x(*IMAGE, draw="wide"), x(19, draw="away from zero"))
    yield typed("int32", "FLOOR_MOD", xi(*IMAGE), xi(19, draw="counts"))


def missing_in_opengl() -> Iterator[Value]:
    """Many operators had no shader in OpenGL, which showed only at run time."""
    flags = typed("bool", "LESS", x(*IMAGE), x(19))
    yield call("TRANSPOSE", x(*IMAGE), ints(0, 2, 3, 1))
    yield from parts("SPLIT", 5, ints(1), x(*IMAGE), num_splits=5)
    yield call("GATHER", x(*IMAGE), ints(3, 1), axis=1)
    yield call("CAST", xi(*IMAGE), in_data_type="int32", out_data_type="float32")
    yield call("CUMSUM", x(*IMAGE), known(np.array(3, np.int32)))
    for operator in ("REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "SUM"):
        yield call(operator, x(2, 3, 5), ints(1), keep_dims=True)
    yield call("SELECT_V2", flags, x(*IMAGE), x(19))
    yield call("BATCH_MATMUL", x(3, 5, 7), x(3, 7, 11))
    yield call("SIGN", x(*IMAGE))
    yield typed("bool", "LOGICAL_AND", flags, typed("bool", "GREATER", x(*IMAGE), x(5, 7, 1)))


def padded_pools() -> Iterator[Value]:
    """PAD was merged into the pool's own padding, which maxima and averages leave out.

    Pools of negative values, so that the zeros of the padding are the maxima at the edges.
    """
    for operator in ("MAX_POOL_2D", "AVERAGE_POOL_2D"):
        below = call("NEG", x(*IMAGE, draw="positive"))
        table = known(np.array(BORDER, np.int32))
        yield call(operator, call("PAD", below, table), **POOL)


def deep_maxima() -> Iterator[Value]:
    """Max pooling started from -10000."""
    for padding in ("SAME", "VALID"):
        yield call("MAX_POOL_2D", x(*IMAGE, draw="deep"), **{**POOL, "padding": padding})


def hot_axes() -> Iterator[Value]:
    """The axis was compared with a size of the input.

    Axes that are equal to a size of the input, and axes that are not.
    """
    for axis in (-1, 0, 1, 2):
        ends = known(np.array(4, np.int32)), w(), w()
        yield call("ONE_HOT", xi(2, 1, draw="places"), *ends, axis=axis)


def equal_parts() -> Iterator[Value]:
    """The axis was guessed from the shapes, which may match several axes.

    All sizes are equal, so that only the axis determines where the parts go.
    """
    for axis in range(4):
        yield call("CONCATENATION", x(2, 2, 2, 2), x(2, 2, 2, 2), axis=axis)


def blocks_of_one() -> Iterator[Value]:
    """SPACE_TO_DEPTH and DEPTH_TO_SPACE with blocks of 1 were rejected."""
    for operator in ("SPACE_TO_DEPTH", "DEPTH_TO_SPACE"):
        yield call("NEG", call(operator, call("ABS", x(*IMAGE)), block_size=1))


def batched_blocks() -> Iterator[Value]:
    """For DEPTH_TO_SPACE of a batch, the generated OpenCL did not compile."""
    yield call("DEPTH_TO_SPACE", x(3, 5, 7, 12), block_size=2)
    yield call("DEPTH_TO_SPACE", x(3, 5, 7, 64), block_size=2)


def masked_attention() -> Iterator[Value]:
    """An ADD that broadcasts was fused into BATCH_MATMUL and read the wrong elements."""
    for mask in ((1, 1, 11, 11), (2, 1, 1, 11), (11, 1), (11,)):
        scores = call("BATCH_MATMUL", x(2, 3, 11, 5), x(2, 3, 11, 5), adj_y=True)
        yield call("ADD", scores, x(*mask))
        yield call("SOFTMAX", call("ADD", scores, x(*mask)), beta=1.0)


def reduced_and_broadcast() -> Iterator[Value]:
    """Operators after a reduction were fused into it, over the grid of the reduction."""
    for axes in ((1,), (2,), (1, 2), (3,)):
        mean = call("MEAN", x(*IMAGE), ints(*axes), keep_dims=True)
        yield call("SUB", x(*IMAGE), mean)
        yield call("MUL", call("ADD", mean, x(2, 1, 1, 1)), x(*IMAGE))


GRAPHS = (
    floors,
    missing_in_opengl,
    padded_pools,
    deep_maxima,
    hot_axes,
    equal_parts,
    blocks_of_one,
    batched_blocks,
    masked_attention,
    reduced_and_broadcast,
)


@pytest.mark.parametrize("way", [ways()[0], *ways()[-2:]], ids=str, indirect=True)
def test_they_are_right_here(way: Way, tmp_path: Path) -> None:
    cases = [
        Case(build.__name__, str(number), value)
        for build in GRAPHS
        for number, value in enumerate(build())
    ]
    assert_cases(cases, way, tmp_path)


def test_blocks_of_one_have_no_kernel() -> None:
    for value in blocks_of_one():
        plan = pipeline.build(model({"y": value}).content, Options(device="cpu")).plan
        assert len(plan.dispatches) == 1
