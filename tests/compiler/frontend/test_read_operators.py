"""What the reader says of operators in a file."""

from collections.abc import Sequence

import numpy as np
import pytest
from graphs.operators import file_of

from tflgpu.compiler import ModelError
from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.ir import Op, Tensor, constant


def file(*ops: Op, outputs: list[Tensor] | None = None) -> bytes:
    return file_of(*ops, inputs=[x], outputs=outputs or [ops[-1].output])


x = Tensor("x", (2, 3))
y = Tensor("y", (2, 3))


def test_the_reader_names_operator_and_operand() -> None:
    with pytest.raises(ModelError, match="model: operator 0 ADD: it has 1 operand, but takes a, b"):
        read(file(Op("ADD", (x,), (y,))))


@pytest.mark.parametrize(
    ("name", "operands", "option"),
    [
        ("STABLEHLO_CASE", (constant("i", np.array(0, np.int32)), x), "branch_subgraph_indices"),
        ("STABLEHLO_COMPOSITE", (x,), "decomposition_subgraph_index"),
    ],
)
def test_subgraphs_without_options(name: str, operands: Sequence[Tensor], option: str) -> None:
    content = file(Op(name, operands, (y,)))
    with pytest.raises(ModelError, match=f"its option {option} is missing"):
        read(content)


def test_options_of_another_operator_are_ignored() -> None:
    attrs = {"keep_dims": True}
    axes = constant("axes", np.array([1], np.int32))
    content = bytearray(file(Op("MEAN", (x, axes), (Tensor("y", (2, 1)),), attrs)))
    assert read(bytes(content)).ops[0].attrs == attrs
    import tflite

    table = tflite.Model.GetRootAs(content, 0).Subgraphs(0).Operators(0)
    kind = table._tab.Pos + table._tab.Offset(10)
    assert content[kind] == tflite.BuiltinOptions.ReducerOptions
    content[kind] = tflite.BuiltinOptions.SqueezeOptions
    assert read(bytes(content)).ops[0].attrs == {"keep_dims": False}


def test_a_tensor_may_be_two_outputs() -> None:
    graph = read(file(Op("NEG", (x,), (y,)), outputs=[y, y]))
    assert graph.outputs[0] is graph.outputs[1]
    assert graph.output_names == ["y", "y_1"]


def test_a_tensor_may_not_be_two_inputs() -> None:
    with pytest.raises(ModelError, match="tensor 0 x is 2 of its inputs"):
        read(file_of(Op("NEG", (x,), (y,)), inputs=[x, x]))


@pytest.mark.parametrize("scale", [np.inf, np.nan, -1.0])
def test_impossible_scales_are_refused(scale: float) -> None:
    from tflgpu.compiler.ir import Quantization

    source = Tensor("x", (2, 3), "int8", quantization=Quantization((scale,), (0,)))
    with pytest.raises(ModelError, match=r"tensor 0 x: its quantization scale .* is negative, inf"):
        read(file_of(Op("NEG", (source,), (y,))))
