"""The declared operands and results of operators, which the reader checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tflgpu.compiler import ModelError
from tflgpu.compiler.frontend.operands import (
    check_operands,
    declared,
    read_declarations,
    set_result_types,
)
from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.frontend.tflite_schema import OWN_PREFIX
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor, constant
from tflgpu.compiler.ops import OPS
from tflgpu.compiler.ops.elementwise import ELEMENTWISE


def tensors(dtypes: str) -> list[Tensor | None]:
    """A tensor per word; None for a -."""
    return [
        None if dtype == "-" else Tensor(f"t{index}", (2,), dtype)
        for index, dtype in enumerate(dtypes.split())
    ]


def op(name: str, operands: str, results: str, **attrs: Any) -> Op:
    outputs = [tensor for tensor in tensors(results) if tensor is not None]
    return Op(name, tensors(operands), outputs, attrs, 3)


def test_every_operator_is_declared() -> None:
    """Or its expression tells how many operands it takes."""
    own = [name for name in OPS if not name.startswith(OWN_PREFIX)]
    assert not [n for n in own if n not in ELEMENTWISE and declared(Op(n, (), ())) is None]


@pytest.mark.parametrize(
    ("name", "operands", "results", "message"),
    [
        ("ADD", "float32", "float32", "it has 1 operand, but takes a, b"),
        ("ADD", "float32 -", "float32", "its operand b is left out"),
        ("ADD", "float32 float32 float32", "float32", "it has 3 operands, but takes a, b"),
        ("ADD", "float32 float32", "float32 float32", "it has 2 results, but computes y"),
        ("ADD", "float32 float32", "", "it has 0 results, but computes y"),
        ("MEAN", "float32 float32", "float32", "its operand axes must be integer, but tensor t1"),
        ("SELECT", "float32 float32 float32", "float32", "its operand condition must be bool"),
        ("CONV_2D", "float32", "float32", "it has 1 operand, but takes input, filter, bias?"),
        ("CONCATENATION", "", "float32", "it has 0 operands, but takes x"),
        ("CONCATENATION", "float32 -", "float32", "its operand x is left out"),
        ("VAR_HANDLE", "float32", "resource", "it has 1 operand, but takes none"),
        (
            "SUM",
            "float32 int32",
            "int64",
            "y must be float32 as tensor t0 is, but tensor t0 is int64",
        ),
        ("CONV_2D", "float32 bool", "float32", "its operand filter must be weights, but tensor t1"),
        ("MUL", "float32 int32", "float32", "b must be float32 as tensor t0 is, but"),
        (
            "PACK",
            "bool bool int8",
            "bool",
            "x must be bool as tensor t0 is, but tensor t2",
        ),
        ("ASSIGN_VARIABLE", "resource", "", "it has 1 operand, but takes handle, value"),
    ],
)
def test_others_are_refused(name: str, operands: str, results: str, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        check_operands(op(name, operands, results))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "operands", "stated", "results"),
    [
        ("ADD", "uint8 uint8", "float32", "uint8"),
        ("SPLIT", "int32 bool", "float32 bool", "bool bool"),
        ("LESS", "float32 float32", "float32", "bool"),
        ("RANK", "float32", "int64", "int32"),
        ("TOPK_V2", "int8 int32", "float32 int64", "int8 int64"),
        ("CAST", "float32", "int64", "int64"),
    ],
)
def test_results_get_the_types_of_litert(
    name: str, operands: str, stated: str, results: str
) -> None:
    given = op(name, operands, stated)
    set_result_types(given)
    assert " ".join(tensor.dtype for tensor in given.outputs) == results


@pytest.mark.parametrize(
    ("name", "operands", "results", "attrs"),
    [
        ("CONV_2D", "float32 float32", "float32", {}),
        ("CONV_2D", "float32 float32 -", "float32", {}),
        ("CONCATENATION", "float32 float32 float32 float32", "float32", {}),
        ("SPLIT", "int32 float32", "float32 float32 float32", {}),
        ("IF", "bool", "", {}),
        ("LSTM", " ".join(["float32"] * 5), " ".join(["float32"] * 4), {"kernel_type": "BASIC"}),
        ("LSTM", "float32 " + "- float32 float32 float32 " * 2 + "- - - - float32 float32 float32 "
         "- - float32 float32", "float32", {"kernel_type": "FULL"}),
        ("unheard_of", "- - -", "", {}),
    ],
)  # fmt: skip
def test_these_are_accepted(name: str, operands: str, results: str, attrs: dict[str, Any]) -> None:
    check_operands(op(name, operands, results, **attrs))


# -- the reader -------------------------------------------------------------------------------


def file(*ops: Op, outputs: list[Tensor] | None = None) -> bytes:
    graph = Graph()
    for each in ops:
        graph.add(each)
    graph.inputs = [x]
    graph.input_names = ["x"]
    graph.outputs = [ops[-1].output] if outputs is None else outputs
    graph.output_names = [tensor.name for tensor in graph.outputs]
    return write(graph)


x = Tensor("x", (2, 3))
y = Tensor("y", (2, 3))


def test_the_reader_names_operator_and_operand() -> None:
    with pytest.raises(ModelError, match="model: operator 0 ADD: it has 1 operand, but takes a, b"):
        read(file(Op("ADD", (x,), (y,))))


def test_a_composite_without_options() -> None:
    content = file(Op("STABLEHLO_COMPOSITE", (x,), (y,)))
    with pytest.raises(ModelError, match="its option decomposition_subgraph_index is missing"):
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
    graph = Graph()
    graph.add(Op("NEG", (x,), (y,)))
    graph.inputs, graph.input_names = [x, x], ["x", "x"]
    graph.outputs, graph.output_names = [y], ["y"]
    with pytest.raises(ModelError, match="tensor 0 x is 2 of its inputs"):
        read(write(graph))


@pytest.mark.parametrize("scale", [np.inf, np.nan, -1.0])
def test_impossible_scales(scale: float) -> None:
    from tflgpu.compiler.ir import Quantization

    source = Tensor("x", (2, 3), "int8", quantization=Quantization((scale,), (0,)))
    graph = Graph()
    graph.add(Op("NEG", (source,), (y,)))
    graph.inputs, graph.input_names = [source], ["x"]
    graph.outputs, graph.output_names = [y], ["y"]
    with pytest.raises(ModelError, match=r"tensor 0 x: its quantization scale .* is negative, inf"):
        read(write(graph))


def test_no_operator_is_declared_twice() -> None:
    with pytest.raises(ValueError, match="EXP is declared twice, the second time as x:T -> y:T"):
        read_declarations([("x -> y", "ABS EXP"), ("x:T -> y:T", "EXP NEG")])
