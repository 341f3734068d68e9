"""The declared operands and results of operators."""

from typing import Any

import pytest

from tflgpu.compiler import ModelError
from tflgpu.compiler.ir import Op, Tensor
from tflgpu.compiler.ops import OPS
from tflgpu.compiler.ops.base.operands import Operands, declare, operands_of
from tflgpu.compiler.tflite_schema import OWN_PREFIX


def tensors(dtypes: str) -> list[Tensor | None]:
    """A tensor per word; None for a -."""
    return [
        None if dtype == "-" else Tensor(f"t{index}", (2,), dtype)
        for index, dtype in enumerate(dtypes.split())
    ]


def op(name: str, operands: str, results: str, **attrs: Any) -> Op:
    outputs = [tensor for tensor in tensors(results) if tensor is not None]
    return Op(name, tensors(operands), outputs, attrs, 3)


def declared(given: Op) -> Operands:
    found = operands_of(given)
    assert found is not None
    return found


def test_operators_of_models_are_declared() -> None:
    """Those of tflgpu itself are in no file."""
    without = [name for name in OPS if operands_of(Op(name, (), ())) is None]
    assert without == [name for name in OPS if name.startswith(OWN_PREFIX)]


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
        ("GATHER", "int8 uint8", "int8", "indices must be int16|int32|int64, but tensor t1"),
        ("TOPK_V2", "int8 int32", "int8 int8", "its result indices must be int16|int32, but"),
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
        ("PACK", "bool bool int8", "bool", "x must be bool as tensor t0 is, but tensor t2"),
        ("ASSIGN_VARIABLE", "resource", "", "it has 1 operand, but takes handle, value"),
    ],
)
def test_others_are_refused(name: str, operands: str, results: str, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        given = op(name, operands, results)
        declared(given).check(given)
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
    declared(given).set_result_types(given)
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
    ],
)  # fmt: skip
def test_these_are_accepted(name: str, operands: str, results: str, attrs: dict[str, Any]) -> None:
    given = op(name, operands, results, **attrs)
    declared(given).check(given)


def test_of_others_nothing_is_known() -> None:
    assert operands_of(op("unheard_of", "- - -", "")) is None


def test_no_operator_is_declared_twice() -> None:
    with pytest.raises(ValueError, match="operator EXP is declared twice"):
        declare("EXP x:T -> y:T")
