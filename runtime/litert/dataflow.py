"""Whether everything that the model of a part reads has been written before.

LiteRT checks that a file is a sound flatbuffer and that all indices in it exist. It does not check
that a tensor has been written before an operator or the caller reads it, and crashes the process if
the tensor has no memory. Since a plan may come from a stranger, that is checked here. What an
operator makes of its options and of its inputs' values is left to LiteRT.
"""

from collections.abc import Iterator
from typing import Any

OMITTED = -1  # The index that stands for an optional operand which an operator does without.


def check_dataflow(content: bytes) -> None:
    """Raise a ValueError that says what is read before it is written, or written twice.

    `content` is a model that LiteRT has accepted, so all offsets in it are sound.
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
    if OMITTED in inputs or len(set(inputs)) < len(inputs):
        yield f"its inputs are {inputs}"
    known.update(inputs)
    for number in range(graph.OperatorsLength()):
        operator = graph.Operators(number)
        for index in _indices(operator.InputsAsNumpy()):
            if index not in known and index != OMITTED:
                yield f"operator {number} reads tensor {index} before it is written"
        written = [i for i in _indices(operator.OutputsAsNumpy()) if i != OMITTED]
        for index in written:
            if index in known:
                yield f"operator {number} writes tensor {index}, which already has content"
            known.add(index)
    for index in _indices(graph.OutputsAsNumpy()):
        if index not in known:
            yield f"tensor {index} is an output, but is never written"


def _indices(vector: Any) -> list[int]:
    """A vector of tensor indices. flatbuffers returns 0 for a vector that is not in the file."""
    return [] if isinstance(vector, int) else [int(index) for index in vector]


def _has_content(model: Any, tensor: Any) -> bool:
    """Whether a tensor has content from the start: a constant, a variable, or an empty tensor."""
    buffer = model.Buffers(tensor.Buffer())
    shape = [] if tensor.ShapeIsNone() else tensor.ShapeAsNumpy().tolist()
    return bool(tensor.IsVariable() or buffer.DataLength() or buffer.Offset() or 0 in shape)
