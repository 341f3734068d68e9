"""What operators mean in numpy, by which constants are folded, against LiteRT."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from agreement import difference, expected
from cases import CASES, Case, families
from graphs import model

from tflgpu.compiler.devices import profile
from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.ir import Array, Graph
from tflgpu.compiler.ops import OPS
from tflgpu.compiler.rewrites.canonicalize.infer_and_fold import infer_and_fold
from tflgpu.compiler.target import Target

pytestmark = pytest.mark.slow

TARGET = Target(profile("cpu"))

# Attributes that no reference need read, and why.
IRRELEVANT = {
    "keep_num_dims": "the shape of the result says it",
    "new_shape": "the shape of the result says it",
    "out_data_type": "the type of the result says it",
    "out_type": "the type of the result says it",
    "in_data_type": "the type of the operand says it",
    "output_type": "the type of the result says it",
    "num": "the number of results says it",
    "num_splits": "the number of results says it",
    "values_count": "the number of operands says it",
    "asymmetric_quantize_inputs": "only LiteRT's arithmetic on integers asks",
    "quantized_bias_type": "only LiteRT's arithmetic on integers asks",
    "pot_scale_int16": "only LiteRT's arithmetic on int16 asks",
}


def constants(case: Case) -> Graph:
    """The graph of a case whose inputs are constants."""
    made = model({case.name: case.value})
    graph = read(made.content)
    for tensor, name in zip(graph.inputs, graph.input_names, strict=True):
        tensor.content = made.inputs[name]
    return graph


class Recorded(dict[str, Any]):
    """Attributes that remember which of them are asked for."""

    def __init__(self, attrs: Mapping[str, Any]) -> None:
        super().__init__(attrs)
        self.asked: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self.asked.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.asked.add(key)
        return super().get(key, default)

    def items(self) -> Any:
        self.asked |= set(self)
        return super().items()


@cache
def folded(case: Case) -> tuple[list[Array | None], dict[str, set[str]]]:
    """The results that are folded; what no operator of a name asked for that was folded."""
    graph = constants(case)
    given = [(op, Recorded(op.attrs)) for op in graph.ops if OPS[op.name].reference is not None]
    for op, attrs in given:
        op.attrs = attrs
    infer_and_fold(graph, TARGET)
    unread: dict[str, set[str]] = {}
    for op, attrs in given:
        if op not in graph:
            left = attrs.keys() - attrs.asked - IRRELEVANT.keys()
            unread[op.name] = unread.get(op.name, left) & left
    return [tensor.data for tensor in graph.outputs], unread


@pytest.mark.parametrize("operator", families())
def test_folding_agrees_with_litert(operator: str) -> None:
    """Whatever the attributes and types: a case is folded right, or not at all."""
    problems = {}
    for case in families()[operator]:
        for result, value in zip(folded(case)[0], expected(case), strict=True):
            if result is not None and (text := difference(result, value)):
                problems[case.name] = text
    assert not problems, "\n".join(f"{name}: {text}" for name, text in problems.items())


def test_folding_asks_for_every_attribute() -> None:
    """One that it does not ask for cannot count."""
    unread: dict[str, set[str]] = {}
    for case in CASES:
        for name, left in folded(case)[1].items():
            unread[name] = unread.get(name, left) & left
    assert {name: keys for name, keys in unread.items() if keys} == {}
