"""Graphs as text: what is printed is read back, and rewrites run on either."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from paths import ROOT

from tflgpu.compiler import ModelError, OptionError
from tflgpu.compiler.cli import main
from tflgpu.compiler.devices import profile
from tflgpu.compiler.rewrites import STAGES
from tflgpu.compiler.target import Target
from tflgpu.compiler.tools.rewrite_text import rewritten

DIGITS = ROOT / "samples/digits/digits.tflite"
TARGET = Target(profile("gpu"))

BLOCK = """
    input x float32[1,8,8,16]
    constant v float32[1,3,3,16]
    constant w float32[16,1,1,16]
    constant b float32[16]
    "a name" = DEPTHWISE_CONV_2D(x, v, b) padding=SAME stride_w=1 stride_h=1 depth_multiplier=1
    u = CONV_2D("a name", w, b) padding=SAME stride_w=1 stride_h=1
    y = RELU(u)
    output y
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "graph.txt"
    path.write_text(text)
    return path


@pytest.mark.parametrize("stage", [*STAGES, ""])
def test_what_is_printed_is_read_back(stage: str, tmp_path: Path) -> None:
    text = rewritten(DIGITS, (), stage, TARGET).text
    again = rewritten(written(tmp_path, text), ("eliminate_dead_code",), "", TARGET)
    assert again.text == text


def test_fused_operators_are_read_back(tmp_path: Path) -> None:
    processor = Target(profile("cpu_avx512"))
    text = rewritten(written(tmp_path, BLOCK), (), "", processor).text
    assert '= tflgpu.depthwise_pointwise { "a name": ' in text and " | y: " in text
    again = rewritten(written(tmp_path, text), ("eliminate_dead_code",), "", TARGET)
    assert again.text == text
    assert [op.name for op in again.ops[0].ops] == ["DEPTHWISE_CONV_2D", "CONV_2D", "RELU"]


def test_passes_run_in_the_order_they_are_given(tmp_path: Path) -> None:
    text = """
        input x float32[1,5,7,3]
        constant p int32[4] = 0, 2, 1, 3
        t = TRANSPOSE(x, p)
        y = TRANSPOSE(t, p)
        z = NEG(y)
        output z
    """
    path = written(tmp_path, text)
    merged = rewritten(path, ("merge_transposes", "drop_identity"), "", TARGET)
    kept = rewritten(path, ("drop_identity",), "", TARGET)
    assert [op.name for op in merged.ops] == ["NEG"] and len(kept.ops) == 3


def test_constants_hold_what_their_text_says(tmp_path: Path) -> None:
    text = """
        input x float32[3]
        constant few float32[3] = 1, -2.5, inf
        constant truth bool[2] = True, False
        y = ADD(x, few)
        output y
    """
    graph = rewritten(written(tmp_path, text), ("infer_and_fold",), "", TARGET)
    few = graph.ops[0].constant(1)
    np.testing.assert_array_equal(few, np.array([1, -2.5, np.inf], np.float32))
    assert "constant few float32[3] = 1.0, -2.5, inf" in graph.text


def test_constants_of_types_that_numpy_lacks(tmp_path: Path) -> None:
    text = """
        input x float32[1,32]
        constant few int4[4] = 7, -8, 0, 1
        constant many int4[3,32]
        few_y: float32[4] = DEQUANTIZE(few)
        y: float32[1,3] = FULLY_CONNECTED(x, many)
        output few_y, y
    """
    graph = rewritten(written(tmp_path, text), ("eliminate_dead_code",), "", TARGET)
    few, many = (op.constant(op.index) for op in graph.ops)
    assert few.tolist() == [7, -8, 0, 1] and many.shape == (3, 32)
    assert {few.dtype.name, many.dtype.name} == {"int8"}
    assert (
        rewritten(written(tmp_path, graph.text), ("drop_identity",), "", TARGET).text == graph.text
    )


def test_operators_without_results_and_texts_are_read_back(tmp_path: Path) -> None:
    text = """
        input x float32[3]
        handle: resource[] = VAR_HANDLE() container='' shared_name='1\\x20"' other=b'to\\x20x'
        CALL_ONCE() init_subgraph_index=1
        ASSIGN_VARIABLE(handle, x)
    """
    graph = rewritten(written(tmp_path, text), ("drop_identity",), "", TARGET)
    assert graph.ops[0].attrs == {"container": "", "shared_name": '1 "', "other": b"to x"}
    assert [(op.name, len(op.outputs)) for op in graph.ops][1:] == [
        ("CALL_ONCE", 0),
        ("ASSIGN_VARIABLE", 0),
    ]
    assert (
        rewritten(written(tmp_path, graph.text), ("drop_identity",), "", TARGET).text == graph.text
    )


def test_operators_that_are_not_known_stay(tmp_path: Path) -> None:
    """What rewrites ask of operators, these have none of."""
    window = "padding=VALID stride_w=1 stride_h=1 filter_width=3 filter_height=3"
    text = f"""
        input x float32[1,4,4,8]
        constant p int32[4,2] = 0, 0, 1, 1, 1, 1, 0, 0
        a: float32[1,4,4,8] = MyOwn(x)
        b: float32[1,6,6,8] = PAD(a, p)
        c: float32[1,4,4,8] = MAX_POOL_2D(b) {window}
        d: float32[1,4,4,8] = MyOwn(c)
        output d
    """
    graph = rewritten(written(tmp_path, text), (), "", TARGET)
    assert [op.name for op in graph.ops].count("MyOwn") == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("y = RELU(x)", "the tensor x is not declared"),
        ("input x float32[3]\ny RELU x", "not an operator, a declaration or an output: y RELU x"),
        ("input x float32[a]", r"not valid \(.*'a'\): input x float32"),
        ("constant c int32[2] = 1, b", r"not valid \(.*'b'\): constant c int32"),
        ("constant c int32[2] = 1, 4000000000000000000000", r"not valid \(.*\): constant c int32"),
        ("constant c text[2]", r"not valid \(.*'text'.*\): constant c text"),
        ("constant c text[2] = 1", r"not valid \(.*'text'.*\): constant c text"),
        ("constant c float32[1000000,1000000,9]", r"not valid \(.*\): constant c float32"),
        ('input "a\tb" float32[3]', r"not valid \(Invalid control character.*\): input"),
        ("input x float32[3]\ny = NOTHING(x)\noutput y", "NOTHING is unknown"),
        ("input x float32[3]\ny: float32[3] = RELU(x) }", "RELU"),
    ],
)
def test_texts_that_say_nothing_are_quoted(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=problem):
        rewritten(written(tmp_path, text), (), "canonicalize", TARGET)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(OptionError, match="no pass swap"):
        rewritten(DIGITS, ("swap",), "", TARGET)
    with pytest.raises(OptionError, match="no stage 'end'"):
        rewritten(DIGITS, (), "end", TARGET)


def test_the_command_prints_the_graph() -> None:
    arguments = ["opt", str(DIGITS), "--until", "decompose", "--device", "gpu"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert result.stdout == rewritten(DIGITS, (), "decompose", TARGET).text + "\n"
