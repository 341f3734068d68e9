"""Whether everything that a part's model reads is there when it is read.

LiteRT checks that a file is a sound flatbuffer and that all indices in it exist. It does not check
that a tensor has been written before an operator, or the caller, reads it, and ends the process on
one that has no memory. Part files of a plan from a stranger are checked for that here. What an
operator makes of its own options and of the numbers it is given is left to LiteRT.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

LEFT_OUT = -1
"""Stands for an operand that an operator does without."""


def check_flow(content: bytes) -> None:
    """ValueError that says what is read before it is there, or written twice.

    `content` is a model that LiteRT has taken, so that all its offsets lead into it.
    """
    from ai_edge_litert.schema_py_generated import Model

    model = Model.GetRootAs(content, 0)
    for number in range(model.SubgraphsLength()):
        for problem in _problems(model, model.Subgraphs(number)):
            raise ValueError(f"subgraph {number}: {problem}")


def _problems(model: Any, graph: Any) -> Iterator[str]:
    known = {
        index for index in range(graph.TensorsLength()) if _has_content(model, graph.Tensors(index))
    }
    inputs = _indices(graph.InputsAsNumpy())
    if LEFT_OUT in inputs or len(set(inputs)) < len(inputs):
        yield f"its inputs are {inputs}"
    known.update(inputs)
    for number in range(graph.OperatorsLength()):
        operator = graph.Operators(number)
        for index in _indices(operator.InputsAsNumpy()):
            if index not in known and index != LEFT_OUT:
                yield f"operator {number} reads tensor {index}, which nothing has written"
        written = [i for i in _indices(operator.OutputsAsNumpy()) if i != LEFT_OUT]
        for index in written:
            if index in known:
                yield f"operator {number} writes tensor {index}, which is there already"
            known.add(index)
    for index in _indices(graph.OutputsAsNumpy()):
        if index not in known:
            yield f"tensor {index} is an output, and nothing writes it"


def _indices(vector: Any) -> list[int]:
    """A vector of tensors; flatbuffers gives 0 for one that is not in the file."""
    return [] if isinstance(vector, int) else [int(index) for index in vector]


def _has_content(model: Any, tensor: Any) -> bool:
    """Whether a tensor is there from the start: a constant, a variable, or without elements."""
    buffer = model.Buffers(tensor.Buffer())
    shape = [] if tensor.ShapeIsNone() else tensor.ShapeAsNumpy().tolist()
    return bool(tensor.IsVariable() or buffer.DataLength() or buffer.Offset() or 0 in shape)
