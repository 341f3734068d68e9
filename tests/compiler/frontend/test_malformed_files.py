"""What the reader says about a .tflite file that is not sound."""

import os
from pathlib import Path
from typing import Any

import pytest
import tflite
from graphs.altered import Change, altered, tensor

from tflgpu.compiler.errors import ModelError
from tflgpu.compiler.frontend.reader import read


def first(model: Any) -> Any:
    return model.subgraphs[0].operators[0]


def second(model: Any) -> Any:
    return model.subgraphs[0].operators[1]


def weigh_by_nothing(model: Any) -> None:
    """Let a fully connected layer, which may share its weights with lookups, have none."""
    code = model.operatorCodes[0]
    code.builtinCode = code.deprecatedBuiltinCode = tflite.BuiltinOperator.FULLY_CONNECTED
    first(model).inputs = [0, 99, -1]


MALFORMED: tuple[tuple[Change, str], ...] = (
    (lambda m: setattr(m, "version", 2), "schema version 2"),
    (lambda m: setattr(m, "subgraphs", []), "no subgraph"),
    (
        lambda m: setattr(tensor(m, "y"), "buffer", 9),
        "tensor 2 y: it refers to buffer 9, but the model has 2",
    ),
    (lambda m: setattr(tensor(m, "y"), "type", 77), "tensor 2 y: its element type 77"),
    (lambda m: setattr(tensor(m, "y"), "shape", [1, -5, 7, 11]), "tensor 2 y: .* negative size"),
    (
        lambda m: setattr(tensor(m, "y"), "shape", [2**15] * 4),
        "tensor 2 y: .* 1152921504606846976 elements",
    ),
    (
        lambda m: setattr(tensor(m, "weights"), "shape", [13, 3, 3, 3]),
        r"tensor 1 weights: its shape \[13, 3, 3, 3\] needs 1404 bytes, but its buffer has 1188",
    ),
    (
        lambda m: setattr(tensor(m, "weights"), "isVariable", True),
        "tensor 1 weights: it is both a variable and a constant",
    ),
    (lambda m: setattr(first(m), "inputs", [0, 99, -1]), "operator 0 CONV_2D: .* tensor 99"),
    (weigh_by_nothing, "operator 0 FULLY_CONNECTED: .* tensor 99"),
    (lambda m: setattr(first(m), "inputs", [0, -2]), "operator 0 CONV_2D: .* tensor -2"),
    (lambda m: setattr(first(m), "outputs", [-1]), "operator 0 CONV_2D: .* tensor -1"),
    (
        lambda m: setattr(first(m), "opcodeIndex", 5),
        "operator 0 refers to operator code 5, but the model has 2",
    ),
    (lambda m: setattr(first(m).builtinOptions, "padding", 9), "padding has the unknown value 9"),
    (
        lambda m: setattr(m.subgraphs[0], "outputs", [7]),
        "its outputs refer to tensor 7, but the subgraph has 4",
    ),
    (lambda m: setattr(second(m), "outputs", [0]), "operator 1 SOFTMAX writes .*x, .* an input"),
    (lambda m: setattr(second(m), "outputs", [1]), "SOFTMAX writes .*weights, .* a constant"),
    (lambda m: setattr(second(m), "outputs", [2]), "SOFTMAX writes .*y, .*also written by"),
    (
        lambda m: setattr(first(m), "inputs", [3, 1, -1]),
        "operator 0 CONV_2D reads tensor z, which no earlier operator writes",
    ),
    (lambda m: m.subgraphs[0].operators.reverse(), "operator 0 SOFTMAX reads tensor y"),
    (lambda m: m.subgraphs[0].operators.pop(), "output z is never written"),
)


@pytest.mark.parametrize("change, message", MALFORMED, ids=[message for _, message in MALFORMED])
def test_malformed_models_are_named(change: Change, message: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.tflite"
    path.write_bytes(altered(change))
    with pytest.raises(ModelError, match=f"broken.tflite: .*{message}"):
        read(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"nowhere\.tflite: No such file"):
        read(tmp_path / "nowhere.tflite")
    with pytest.raises(ModelError, match=r"it is a folder; give the \.tflite file"):
        read(tmp_path)
    empty = tmp_path / "empty.tflite"
    empty.touch()
    with pytest.raises(ModelError, match="the file is empty"):
        read(str(empty))
    with pytest.raises(ModelError, match="it is not a regular file"):
        read("/dev/null")
    os.mkfifo(tmp_path / "pipe.tflite")  # to open it would wait for its writer
    with pytest.raises(ModelError, match="it is not a regular file"):
        read(tmp_path / "pipe.tflite")
    with pytest.raises(ModelError, match=r"not a \.tflite model"):
        read(b"<html>404")
