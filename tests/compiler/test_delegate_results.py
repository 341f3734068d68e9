"""Operators that the GPU delegate of LiteRT computes wrongly: a test for each defect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pytest
from agreement import problems
from cases import Case
from devices import DEVICE_OF, opencl_devices, unavailable, ways
from graphs import Value, call, ints, known, model, parts, typed, w, x, xi

from tflgpu.compiler import Options, pipeline

IMAGE = (2, 5, 7, 19)

WINDOW = {"padding": "VALID", "stride_h": 1, "stride_w": 1}

POOL = {**WINDOW, "filter_height": 3, "filter_width": 3}

BORDER = [[0, 0], [1, 1], [1, 1], [0, 0]]


def floors() -> Iterator[Value]:
    yield call("FLOOR", x(*IMAGE, draw="wide"))
    yield call("FLOOR_DIV", x(*IMAGE, draw="wide"), x(19, draw="away from zero"))
    yield typed("int32", "FLOOR_MOD", xi(*IMAGE), xi(19, draw="counts"))


def missing_in_opengl() -> Iterator[Value]:
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
    """Pools of negative values, so that the zeros of the padding are the maxima at the edges."""
    for operator in ("MAX_POOL_2D", "AVERAGE_POOL_2D"):
        below = call("NEG", x(*IMAGE, draw="positive"))
        table = known(np.array(BORDER, np.int32))
        yield call(operator, call("PAD", below, table), **POOL)


def deep_maxima() -> Iterator[Value]:
    for padding in ("SAME", "VALID"):
        yield call("MAX_POOL_2D", x(*IMAGE, draw="deep"), **{**POOL, "padding": padding})


def hot_axes() -> Iterator[Value]:
    """Axes that are equal to a size of the input, and axes that are not."""
    for axis in (-1, 0, 1, 2):
        ends = known(np.array(4, np.int32)), w(), w()
        yield call("ONE_HOT", xi(2, 1, draw="places"), *ends, axis=axis)


def equal_parts() -> Iterator[Value]:
    """All sizes are equal, so that only the axis determines where the parts go."""
    for axis in range(4):
        yield call("CONCATENATION", x(2, 2, 2, 2), x(2, 2, 2, 2), axis=axis)


def blocks_of_one() -> Iterator[Value]:
    for operator in ("SPACE_TO_DEPTH", "DEPTH_TO_SPACE"):
        yield call("NEG", call(operator, call("ABS", x(*IMAGE)), block_size=1))


def batched_blocks() -> Iterator[Value]:
    yield call("DEPTH_TO_SPACE", x(3, 5, 7, 12), block_size=2)
    yield call("DEPTH_TO_SPACE", x(3, 5, 7, 64), block_size=2)


def masked_attention() -> Iterator[Value]:
    for mask in ((1, 1, 11, 11), (2, 1, 1, 11), (11, 1), (11,)):
        scores = call("BATCH_MATMUL", x(2, 3, 11, 5), x(2, 3, 11, 5), adj_y=True)
        yield call("ADD", scores, x(*mask))
        yield call("SOFTMAX", call("ADD", scores, x(*mask)), beta=1.0)


def reduced_and_broadcast() -> Iterator[Value]:
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


@pytest.fixture(scope="module", params=[ways()[0], *ways()[-2:]], ids=lambda way: way.target)
def wrong(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, str]:
    """What is wrong in one kernel language, by graph and number."""
    way = request.param
    if way.target in DEVICE_OF:
        request.getfixturevalue(DEVICE_OF[way.target])
    elif not opencl_devices():
        unavailable("no OpenCL device is present")
    cases = [
        Case(build.__name__, str(number), value)
        for build in GRAPHS
        for number, value in enumerate(build())
    ]
    return problems(cases, way, tmp_path_factory.mktemp("defects"))


def assert_right(wrong: Mapping[str, str], build: Callable[[], Iterator[Value]]) -> None:
    prefix = f"{build.__name__} "
    assert not {key: text for key, text in wrong.items() if key.startswith(prefix)}


def test_floors_have_kernels(wrong: Mapping[str, str]) -> None:
    """FLOOR, FLOOR_DIV and FLOOR_MOD were accepted, but had no kernel in OpenCL."""
    assert_right(wrong, floors)


def test_both_languages_have_the_same_operators(wrong: Mapping[str, str]) -> None:
    """Many operators had no shader in OpenGL, which showed only at run time."""
    assert_right(wrong, missing_in_opengl)


def test_zeros_padded_before_a_pool_count(wrong: Mapping[str, str]) -> None:
    """PAD was merged into the pool's own padding, which maxima and averages leave out."""
    assert_right(wrong, padded_pools)


def test_maxima_start_below_every_value(wrong: Mapping[str, str]) -> None:
    """Max pooling started from -10000."""
    assert_right(wrong, deep_maxima)


def test_one_hot_uses_its_axis(wrong: Mapping[str, str]) -> None:
    """The axis was compared with a size of the input."""
    assert_right(wrong, hot_axes)


def test_a_concatenation_uses_its_axis(wrong: Mapping[str, str]) -> None:
    """The axis was guessed from the shapes, which may match several axes."""
    assert_right(wrong, equal_parts)


def test_blocks_of_one_do_nothing(wrong: Mapping[str, str]) -> None:
    """SPACE_TO_DEPTH and DEPTH_TO_SPACE with blocks of 1 were rejected."""
    assert_right(wrong, blocks_of_one)
    for value in blocks_of_one():
        plan = pipeline.build(model({"y": value}).content, Options(device="cpu")).plan
        assert len(plan.dispatches) == 1


def test_blocks_of_several_batches(wrong: Mapping[str, str]) -> None:
    """For DEPTH_TO_SPACE of a batch, the generated OpenCL did not compile."""
    assert_right(wrong, batched_blocks)


def test_a_mask_added_to_a_product_of_matrices(wrong: Mapping[str, str]) -> None:
    """An ADD that broadcasts was fused into BATCH_MATMUL and read the wrong elements."""
    assert_right(wrong, masked_attention)


def test_a_mean_that_is_broadcast(wrong: Mapping[str, str]) -> None:
    """Operators after a reduction were fused into it, over the grid of the reduction."""
    assert_right(wrong, reduced_and_broadcast)
