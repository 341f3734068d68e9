"""Names from models in comments."""

import numpy as np
import pytest

from tflgpu.compiler import Options, build
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor, constant
from tflgpu.compiler.language.wrapping import in_comment
from tflgpu.compiler.options import TargetName


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("conv/Relu:0", "conv/Relu:0"),
        ("a b;c", "a_b;c"),
        ("*/ evil", "*_/_evil"),
        ("ends with \\", "ends_with__"),
        ("\x00\n\u202e", "___"),
        ("??/#include <x>%:", "__/_include_<x>_:"),
    ],
)
def test_it_neither_ends_nor_continues_a_comment(name: str, shown: str) -> None:
    assert in_comment(name) == shown


@pytest.mark.parametrize("target", ["opencl", "glsl"])
def test_kernels_hold_no_raw_name(target: TargetName) -> None:
    given, result = Tensor("x", (2, 3)), Tensor("y", (2, 3))
    graph = Graph("model")
    graph.add(
        Op(
            "MAXIMUM",
            (given, constant("\x00\\\n*/#include", np.ones((1, 3), np.float32))),
            (result,),
        )
    )
    graph.inputs, graph.input_names = [given], ["x"]
    graph.outputs, graph.output_names = [result], ["y"]
    (text,) = build(write(graph), Options(target=target, device="gpu")).sources.values()
    assert "reads ___*_/_include from 0" in text
