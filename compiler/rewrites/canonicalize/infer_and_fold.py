"""Shapes and constants flow forward through the graph together.

A shape may follow from a constant (RESHAPE) and a constant from a shape (SHAPE), so both are
found in one walk. Operators whose inputs are all constants are computed here and go away.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ...devices import Profile
from ...errors import Finding, ModelError, UnsupportedError
from ...events import Event, describe
from ...ir import Graph, Op, Shape
from ...ops import OPS, OpDef
from ...select.refusals import unknown_operators
from ..rewrite import check

MAX_BYTES = 2**31 - 1
"""The largest tensor kernels can index."""

SHAPE_ONLY = frozenset(["RANK", "SHAPE", "ZEROS_LIKE"])
"""Operators whose results follow from the shape of their input."""


def propagate(graph: Graph, profile: Profile) -> list[Event]:
    """Set every shape from the inputs' shapes; replace what is known by constants.

    ModelError where shapes do not go together; it names the operator. UnsupportedError with all
    findings where shapes follow from what is computed while the model runs.
    """
    events = []
    findings: list[Finding] = []
    for op in graph.ops:
        definition = OPS.get(op.name)
        if definition is None:
            continue
        try:
            shapes = _infer(op, definition)
        except UnsupportedError as error:
            findings += error.findings
            continue
        except ModelError:
            if findings:  # what the file says of the tensors before it is not to be relied on
                continue
            raise
        for tensor, shape in zip(op.outputs, shapes, strict=True):
            tensor.shape = shape
        if definition.reference is not None and _known(op):
            _fold(graph, op, definition)
            events.append(Event("propagate", (describe(op),), None))
    if findings:
        findings += unknown_operators(graph)
        raise UnsupportedError(sorted(findings, key=lambda finding: finding.index))
    check(graph, "propagate", everything=True)
    return events


def _infer(op: Op, definition: OpDef) -> list[Shape]:
    try:
        shapes = [tuple(int(size) for size in shape) for shape in definition.infer(op)]
    except ModelError:
        raise
    except (ArithmeticError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"operator {op.index} {op.name} makes no sense: {error}") from error
    if len(shapes) != len(op.outputs):
        raise ModelError(
            f"operator {op.index} {op.name} has {len(op.outputs)} outputs, not {len(shapes)}"
        )
    for tensor, shape in zip(op.outputs, shapes, strict=True):
        if min(shape, default=1) < 0 or 4 * prod(shape) > MAX_BYTES:
            raise ModelError(
                f"operator {op.index} {op.name}: tensor {tensor.name} would have the shape "
                f"{list(shape)}, more than 2 GiB"
            )
    return shapes


def _known(op: Op) -> bool:
    if op.name in SHAPE_ONLY:
        return True
    return not op.post and all(tensor.constant and not tensor.variable for tensor in op.reads)


def _fold(graph: Graph, op: Op, definition: OpDef) -> None:
    assert definition.reference is not None
    arrays = [t.data if t.data is not None else np.empty(0) for t in op.inputs if t is not None]
    try:
        results = definition.reference(op, arrays)
    except (ArithmeticError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"operator {op.index} {op.name} cannot be computed: {error}") from error
    outputs = op.outputs
    graph.remove(op)
    for tensor, result in zip(outputs, results, strict=True):
        tensor.data = np.asarray(result).reshape(tensor.shape)
