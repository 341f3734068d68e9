"""Shapes and constants that follow from each other."""

import numpy as np
import pytest

from tflgpu.compiler import ModelError
from tflgpu.compiler.devices import profile
from tflgpu.compiler.ir import Graph, Op, Tensor, constant
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
    graph = Graph()
    graph.add(Op("SHAPE", (x,), (size,)))
    graph.add(Op("STRIDED_SLICE", (size, *ends), (batch,), {"shrink_axis_mask": 1}, 1))
    graph.add(Op("PACK", (batch, rest), (wanted,), {"axis": 0}, 2))
    graph.add(Op("RESHAPE", (x, wanted), (y,), {}, 3))
    graph.inputs, graph.outputs = [x], [y]
    events = infer_and_fold(graph, TARGET)
    assert [event.operators for event in events] == [
        ("0 SHAPE",),
        ("1 STRIDED_SLICE",),
        ("2 PACK",),
    ]
    assert str(graph) == "y = RESHAPE(x, wanted)" and y.shape == (3, 35)
    np.testing.assert_array_equal(graph.ops[0].constant(1), [3, -1])


def test_the_operator_whose_shapes_do_not_match_is_named() -> None:
    a, b, y = Tensor("a", (3,)), Tensor("b", (5,)), Tensor("y", (5,))
    graph = Graph()
    graph.add(Op("ADD", (a, b), (y,)))
    graph.inputs, graph.outputs = [a, b], [y]
    with pytest.raises(ModelError, match=r"operator 0 ADD: \[3\] and \[5\] do not broadcast"):
        infer_and_fold(graph, TARGET)


def test_a_tensor_above_2_gib_is_refused() -> None:
    x, y = Tensor("x", (1, 1)), Tensor("y", (1, 1))
    graph = Graph()
    graph.add(Op("TILE", (x, ints("times", 1 << 15, 1 << 15)), (y,)))
    graph.inputs, graph.outputs = [x], [y]
    with pytest.raises(ModelError, match=r"\[32768, 32768\].*takes more than 2 GiB"):
        infer_and_fold(graph, TARGET)
