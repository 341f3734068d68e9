"""Operands without elements but with many rows, which no list and no text is to have."""

import warnings

import numpy as np
import pytest
from cases import CASES, Case
from graphs import model

from fuzz.mutations import Listed
from tflgpu.compiler import Options, build
from tflgpu.compiler.errors import ModelError
from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.frontend.writer import write
from tflgpu.runtime.errors import TflgpuError

ROWS = 1 << 16

FIRST = {case.operator: case for case in reversed(CASES)}  # The first case of each operator.


@pytest.mark.parametrize("case", FIRST.values(), ids=FIRST.keys())
def test_of_many_rows(case: Case) -> None:
    content = model({case.name: case.value}).content
    for number, op in enumerate(read(content).ops):
        for place, operand in enumerate(op.inputs):
            if operand is not None and operand.dtype != "string":
                assert len(text(content, number, place)) < ROWS


def text(content: bytes, number: int, place: int) -> str:
    """What is wrong with a model in which an operand of an operator is empty."""
    graph = read(content)
    operand = graph.ops[number].operand(place)
    operand.shape = (ROWS, 0)
    if operand.data is not None:
        operand.content = np.zeros(operand.shape, operand.data.dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            build(write(Listed(graph)), Options(device="gpu", fallback="none"))
        except TflgpuError as error:
            return str(error.args[0])  # before it is shortened
    return ""


@pytest.mark.parametrize("shape", [(1 << 26, 0, 1 << 26, 1 << 26), (1 << 20, 1 << 20, 0)])
def test_sizes_beyond_arrays_are_refused(shape: tuple[int, ...]) -> None:
    graph = read(model({"y": CASES[0].value}).content)
    graph.ops[0].operand(0).shape = shape
    with pytest.raises(ModelError, match="but 0 multiply to"):
        read(write(Listed(graph)))
