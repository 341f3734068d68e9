"""What operators mean in numpy, by which constants are folded, against LiteRT."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import difference, expected
from cases import Case, families
from graphs import model

from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.ops import OPS

pytestmark = pytest.mark.slow


def computed(case: Case) -> list[np.ndarray] | None:
    """The outputs of a case by the references alone; None if an operator in it has none.

    References know nothing of quantization.
    """
    made = model({case.name: case.value})
    graph = read(made.content)
    for tensor, name in zip(graph.inputs, graph.input_names, strict=True):
        tensor.data = made.inputs[name]
    if any(tensor.quantization for op in graph.ops for tensor in (*op.reads, *op.outputs)):
        return None
    for op in graph.ops:
        definition = OPS[op.name]
        activated = op.attrs.get("fused_activation_function", "NONE") != "NONE"
        if definition.reference is None or activated:
            return None
        for tensor, shape in zip(op.outputs, definition.infer(op), strict=True):
            tensor.shape = tuple(shape)
        known = [tensor.data for tensor in op.reads if tensor.data is not None]
        for tensor, result in zip(op.outputs, definition.compute(op, known), strict=True):
            tensor.data = result
    return [tensor.data for tensor in graph.outputs if tensor.data is not None]


@pytest.mark.parametrize("operator", families())
def test_references_agree_with_litert(operator: str) -> None:
    problems = {}
    for case in families()[operator]:
        results = computed(case)
        for result, value in zip(results or (), expected(case) if results else (), strict=True):
            if text := difference(result, value):
                problems[case.name] = text
    assert not problems, "\n".join(f"{name}: {text}" for name, text in problems.items())
