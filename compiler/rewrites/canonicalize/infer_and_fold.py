"""Shapes and constants flow forward through the graph together.

A shape may follow from a constant (RESHAPE) and a constant from a shape (SHAPE), so both are
found in one walk. Operators whose inputs are all constants are computed here and go away.

An operator whose shapes cannot be inferred, because it is unknown or they depend on values that
only a run computes, is set aside: it can only run on LiteRT, which is asked for its shapes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from ...errors import Finding, ModelError, UnsupportedError
from ...ir import Graph, Op, Shape
from ...ops import OPS, OpDef
from ...target import Target
from ..rewrite import Attempt, graph_rewrite

MAX_BYTES = 2**31 - 1
"""The largest tensor kernels can index."""


@graph_rewrite(required=True)
def infer_and_fold(graph: Graph, target: Target) -> Iterator[Attempt]:
    """Set every shape from the inputs' shapes; replace what is known by constants.

    ModelError where shapes do not go together; it names the operator.
    """
    for op in graph.ops:
        definition = OPS.get(op.name)
        shapes = _shapes(graph, op, definition)
        for tensor, shape in zip(op.outputs, shapes, strict=True):
            tensor.dynamic = shape is None
            tensor.shape = tensor.shape if shape is None else shape
        if definition is not None and op not in graph.set_aside and _known(op, definition):
            yield Attempt((op,))
            _fold(graph, op, definition)


def _shapes(graph: Graph, op: Op, definition: OpDef | None) -> Sequence[Shape | None]:
    """The shapes of an operator's outputs; None for one that only a run tells."""
    finding = graph.set_aside.get(op) or _unknown_shapes(op, definition)
    if finding is None:
        assert definition is not None
        try:
            return _inferred(op, definition)
        except UnsupportedError as error:
            finding = error.findings[0]
        except ModelError:
            # What the file says of the tensors behind operators set aside is not to be relied on.
            if not graph.set_aside:
                raise
            finding = Finding(op.index, op.name, "the shapes of its inputs are not known")
    graph.set_aside.setdefault(op, finding)
    return [graph.foreign_shape(tensor) for tensor in op.outputs]


def _unknown_shapes(op: Op, definition: OpDef | None) -> Finding | None:
    """Why nothing can be inferred of an operator, if that is so."""
    if definition is None:
        return Finding(op.index, op.name, "tflgpu does not know this operator")
    for tensor in op.reads:
        if tensor.dynamic:
            reason = f"the shape of its input {tensor.name} is known only while the model runs"
            return Finding(op.index, op.name, reason)
    return None


def _inferred(op: Op, definition: OpDef) -> list[Shape]:
    try:
        shapes = [tuple(int(size) for size in shape) for shape in definition.infer(op)]
    except ModelError:
        raise
    except (ArithmeticError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ModelError(
            f"operator {op!r}: its operands or options are invalid: {error}"
        ) from error
    if len(shapes) != len(op.outputs):
        raise ModelError(f"operator {op!r} has {len(op.outputs)} outputs, it needs {len(shapes)}")
    for tensor, shape in zip(op.outputs, shapes, strict=True):
        if min(shape, default=1) < 0 or 4 * prod(shape) > MAX_BYTES:
            raise ModelError(
                f"operator {op!r}: tensor {tensor.name} would have the shape {list(shape)}, which "
                f"is more than 2 GiB"
            )
    return shapes


def _known(op: Op, definition: OpDef) -> bool:
    """Whether the results follow from shapes and constants alone."""
    if definition.reference is None:
        return False
    if definition.reads_shapes_only:
        return True
    return all(tensor.constant and not tensor.variable for tensor in op.reads)


def _fold(graph: Graph, op: Op, definition: OpDef) -> None:
    assert definition.reference is not None
    arrays = [t.data if t.data is not None else np.empty(0) for t in op.inputs if t is not None]
    try:
        results = definition.reference(op, arrays)
    except (ArithmeticError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"operator {op!r} cannot be computed: {error}") from error
    outputs = op.outputs
    graph.remove(op)
    for tensor, result in zip(outputs, results, strict=True):
        tensor.data = np.asarray(result).reshape(tensor.shape)
