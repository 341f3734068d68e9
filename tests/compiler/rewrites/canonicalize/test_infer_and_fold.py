"""Shapes and constants that follow from each other."""

import numpy as np
import pytest
from graphs.operators import graph_of

from tflgpu.compiler import ModelError
from tflgpu.compiler.devices import profile
from tflgpu.compiler.ir import Op, Tensor, constant
from tflgpu.compiler.rewrites.canonicalize.infer_and_fold import infer_and_fold
from tflgpu.compiler.target import Target

TARGET = Target(profile("cpu"))


def ints(name: str, *values: int) -> Tensor:
    return constant(name, np.array(values, np.int32))


def test_a_shape_that_is_computed_from_a_shape() -> None:
    """RESHAPE(x, PACK(SHAPE(x)[0], -1)), which is how a model keeps its batch."""
    x, y = Tensor("x", (3, 5, 7)), Tensor("y", (0, 0))
    size, wanted = Tensor("size", (3,), "int32"), Tensor("wanted", (2,), "int32")
    batch, rest = Tensor("batch", (), "int32"), constant("rest", np.array(-1, np.int32))
    ends = ints("from", 0), ints("to", 1), ints("by", 1)
    graph = graph_of(
        Op("SHAPE", (x,), (size,)),
        Op("STRIDED_SLICE", (size, *ends), (batch,), {"shrink_axis_mask": 1}),
        Op("PACK", (batch, rest), (wanted,), {"axis": 0}),
        Op("RESHAPE", (x, wanted), (y,)),
    )
    events = infer_and_fold(graph, TARGET)
    folded = ["0 SHAPE", "1 STRIDED_SLICE", "2 PACK"]
    assert [event.operators for event in events] == [(name,) for name in folded]
    assert str(graph) == "y = RESHAPE(x, wanted)" and y.shape == (3, 35)
    np.testing.assert_array_equal(graph.ops[0].constant(1), [3, -1])


def test_an_operator_stays_for_the_result_that_has_elements() -> None:
    x, none, all_of_it, y, z = (Tensor(name, (0,)) for name in ("x", "none", "all", "y", "z"))
    x.shape = (3, 5)
    graph = graph_of(
        Op("SPLIT_V", (x, ints("sizes", 0, 5), ints("axis", 1)), (none, all_of_it)),
        Op("NEG", (none,), (y,)),
        Op("NEG", (all_of_it,), (z,)),
    )
    graph.outputs = [y, z]
    infer_and_fold(graph, TARGET)
    assert [op.name for op in graph.ops] == ["SPLIT_V", "NEG"]
    assert (y.shape, z.shape) == ((3, 0), (3, 5))


def test_the_operator_whose_shapes_do_not_match_is_named() -> None:
    a, b, y = Tensor("a", (3,)), Tensor("b", (5,)), Tensor("y", (5,))
    with pytest.raises(ModelError, match=r"operator 0 ADD: \[3\] and \[5\] do not broadcast"):
        infer_and_fold(graph_of(Op("ADD", (a, b), (y,))), TARGET)


def test_a_tensor_above_2_gib_is_refused() -> None:
    x, y = Tensor("x", (1, 1)), Tensor("y", (1, 1))
    graph = graph_of(Op("TILE", (x, ints("times", 1 << 15, 1 << 15)), (y,)))
    with pytest.raises(ModelError, match=r"\[32768, 32768\].*takes more than 2 GiB"):
        infer_and_fold(graph, TARGET)
