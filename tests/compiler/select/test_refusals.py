"""Findings: all at once, each with the operator, what is unsupported about it, and advice."""

import numpy as np
import pytest
from graphs.operators import file_of

from tflgpu.compiler import ModelError, Options, UnsupportedError, build
from tflgpu.compiler.errors import OWN_FUNCTION, Finding
from tflgpu.compiler.ir import Op, Tensor, constant


def findings(*ops: Op) -> list[Finding]:
    """Why a model of these operators is unsupported."""
    with pytest.raises(UnsupportedError) as caught:
        build(file_of(*ops), Options(device="cpu", fallback="none"))
    return list(caught.value.findings)


def test_unknown_operators_and_computed_shapes_are_found_together() -> None:
    x, y, z = Tensor("x", (2, 3)), Tensor("y", (2, 3)), Tensor("z", (2, 3))
    times = Tensor("times", (2,), "int32")
    found = findings(Op("Riddle", (x,), (y,)), Op("TILE", (y, times), (z,), {}, 1))
    assert [(item.index, item.operator) for item in found] == [(0, "Riddle"), (1, "TILE")]
    assert found[0].reason == "tflgpu does not know this operator"
    assert found[0].advice == "compute it with a function of your own: custom_ops, --custom-op"
    assert found[1].reason == "input 1 (times) is computed while the model runs"
    assert found[1].advice == "it must be a constant; convert the model with fixed shapes"


@pytest.mark.parametrize(
    ("count", "listed"),
    [
        (1, "operator 0"),
        (3, "operators 0, 1 and 2"),
        (11, "operators 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 10"),
        (1000, "operators 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 990 more"),
    ],
)
def test_the_text_has_a_line_for_each_cause(count: int, listed: str) -> None:
    alike = [Finding(index, "Riddle", "it is unknown", "do it") for index in range(count)]
    text = str(UnsupportedError([*alike, Finding(count, "Mystery", "it is unknown")]))
    assert text.splitlines()[1:] == [
        f"  {listed} Riddle: it is unknown (do it)",
        f"  operator {count} Mystery: it is unknown",
    ]


def test_operators_of_tensorflow() -> None:
    (found,) = findings(Op("FlexErfc", (Tensor("x", (3,)),), (Tensor("y", (3,)),)))
    assert found.reason == "tflgpu does not know this operator"
    assert found.advice == f"convert the model with TFLITE_BUILTINS ops only, or {OWN_FUNCTION}"


def test_a_version_newer_than_known() -> None:
    (found,) = findings(Op("ABS", (Tensor("x", (3,)),), (Tensor("y", (3,)),), {}, 0, 99))
    assert found.reason == "it has version 99, but only versions up to 5 are supported"
    assert found.advice == "convert the model for an older TFLite runtime"


def test_strings_are_reported_for_the_operator_of_the_model() -> None:
    x, y = Tensor("x", (3,), "string"), Tensor("y", (3, 1), "string")
    (found,) = findings(Op("RESHAPE", (x,), (y,), {"new_shape": (3, 1)}))
    assert found.operator == "RESHAPE"
    assert found.reason.startswith("tensor x is string; supported types are float32, ")
    assert found.advice.startswith("split the model after the operators on strings")


def test_constants_wider_than_the_devices_integers() -> None:
    x, y = Tensor("x", (2,), "int64"), Tensor("y", (2,), "int64")
    (found,) = findings(Op("SUB", (x, constant("wide", np.array([1, 1 << 40]))), (y,)))
    assert found.reason == "constant wide holds integers of more than 32 bits"


def test_an_axis_without_elements() -> None:
    x, y = Tensor("x", (2, 3)), Tensor("y", (2, 3))
    axis = constant("axis", np.zeros(0, np.int32))
    with pytest.raises(ModelError, match="takes a number from axis, which is empty"):
        findings(Op("CUMSUM", (x, axis), (y,)))
