"""Shape inference and constant folding, in one forward pass.

A shape may depend on a constant (RESHAPE), and a constant on a shape (SHAPE), so both are computed
together. Operators whose inputs are all constants are evaluated and removed.

An operator is set aside if it is unknown, or if its shapes depend on values known only while the
model runs. It can then run only on LiteRT, which also provides its shapes.

What depends on a branch or a loop waits until that is replaced by what it runs, or set aside: until
then not even its shapes are known.

Tensors without elements become constants, and operators that compute nothing else are removed: no
kernel is launched for them, and none reads them. What is summed over no elements is zeros.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ....runtime.plan.storage import DEVICE_TYPES
from ...errors import OWN_FUNCTION, Finding, ModelError, UnsupportedError
from ...frontend.operator_options import run_by
from ...ir import Graph, Op, Shape, Tensor, extent
from ...ir.inline import inline
from ...ops import OPS, OpDef
from ...ops.control_flow import CONTROL, as_the_file_says
from ...target import Target
from ..fold.fold_constants import fold, known
from ..rewrite import Attempt, Attempts, graph_rewrite, invalid_operator
from .resizing import Resizing

MAX_BYTES = 2**31 - 1  # Bytes of the largest tensor that kernels can index.
_FLEX = "Flex"  # Prefix of TensorFlow operators in a .tflite file.

_NUMPY_TYPES = frozenset([*DEVICE_TYPES, "complex64", "float64", "uint64"])


@graph_rewrite(required=True)
def infer_and_fold(graph: Graph, target: Target) -> Attempts:
    """Infer all shapes, and fold known values (ModelError, naming the operator, on a mismatch)."""
    for tensor in list(graph.inputs):
        _make_constant_if_empty(graph, tensor)
    resizing = Resizing(graph)
    waiting: set[Tensor] = set()
    for op in graph.ops:
        if not waiting.isdisjoint(op.reads) or (op.name in CONTROL and op not in graph.set_aside):
            waiting.update(op.outputs)
            resizing.leave(op)
            continue
        op = resizing.separate(op)
        definition = OPS.get(op.name)
        filed = [tensor.shape for tensor in op.outputs]
        if resizing.fit(op):
            yield Attempt((op,))
        try:
            shapes = _shapes(graph, op, definition)
        except ModelError:
            resizing.end()
            raise
        for tensor, shape in zip(op.outputs, shapes, strict=True):
            tensor.dynamic = shape is None
            tensor.shape = tensor.shape if shape is None else shape
        resizing.follow(op, filed)
        if definition is None or op in graph.set_aside or definition.infer is as_the_file_says:
            continue
        if definition.traits.joins and any(tensor.elements for tensor in op.reads):
            graph.set_inputs(op, [tensor for tensor in op.reads if tensor.elements])
        if op.outputs and not any(tensor.elements for tensor in op.outputs):
            yield Attempt((op,))
            for tensor in op.outputs:
                _make_constant_if_empty(graph, tensor)
            graph.remove(op)
        elif _sums_nothing(op, definition):
            yield Attempt((op,))
            graph.remove(op)
            op.output.content = np.zeros(op.output.shape, op.output.dtype)
            op.output.folded = True
        elif known(op):
            yield Attempt((op,))
            fold(graph, op)
        else:
            for tensor in op.outputs:
                _make_constant_if_empty(graph, tensor)
    resizing.end()


def _sums_nothing(op: Op, definition: OpDef) -> bool:
    """Whether an operator's weights have no elements: LiteRT then adds no bias either."""
    weighted = definition.traits.weights
    if weighted is None:
        return False
    shape = op.operand(1).shape
    return any(shape[axis] == 0 for axis in weighted.summed_axes)


def _make_constant_if_empty(graph: Graph, tensor: Tensor) -> None:
    """Let all readers of a tensor without elements read a constant instead."""
    if tensor.elements or tensor.dynamic or tensor.dtype not in _NUMPY_TYPES:
        return
    content = np.empty(tensor.shape, tensor.dtype)
    graph.replace(tensor, replace(tensor, content=content, variable=False))


def _shapes(graph: Graph, op: Op, definition: OpDef | None) -> Sequence[Shape | None]:
    """The shapes of an operator's outputs; None for one known only while the model runs."""
    finding = graph.set_aside.get(op) or _unknown_shapes(op, definition)
    if finding is None:
        assert definition is not None
        try:
            return _inferred(op, definition)
        except UnsupportedError as error:
            finding = error.findings[0]
        except ModelError:
            # After an operator set aside, the shapes in the file are unreliable, so a mismatch
            # does not mean that the model is invalid.
            if not graph.set_aside:
                raise
            finding = op.finding("the shapes of its inputs are unknown")
    graph.set_aside.setdefault(op, finding)
    return [graph.litert_shape(tensor) for tensor in op.outputs]


def _unknown_shapes(op: Op, definition: OpDef | None) -> Finding | None:
    """Why an operator's shapes cannot be inferred; None if they can."""
    if definition is None:
        flex = op.name.startswith(_FLEX)
        otherwise = "convert the model with TFLITE_BUILTINS ops only, or " if flex else ""
        return op.finding("tflgpu does not know this operator", otherwise + OWN_FUNCTION)
    for tensor in op.reads:
        if tensor.dynamic:
            reason = f"the shape of its input {tensor.name} is known only while the model runs"
            return op.finding(reason)
    return None


def _inferred(op: Op, definition: OpDef) -> list[Shape]:
    with invalid_operator(op):
        shapes = [tuple(int(size) for size in shape) for shape in definition.infer(op)]
    if len(shapes) != len(op.outputs):
        raise ModelError(
            f"operator {op!r} has {len(op.outputs)} outputs, but must have {len(shapes)}"
        )
    for tensor, shape in zip(op.outputs, shapes, strict=True):
        if min(shape, default=1) < 0 or 4 * extent(shape) > MAX_BYTES:
            raise op.invalid(
                f"its output {tensor.name} would have the shape {list(shape)}, which is negative "
                f"or takes more than 2 GiB"
            )
    return shapes


def tried(
    graph: Graph, called: Graph, values: Sequence[Tensor], caller: Op, target: Target
) -> Graph:
    """What a subgraph makes of some values, in a graph of its own that is to be thrown away."""
    trial = Graph()
    trial.subgraphs = graph.subgraphs
    trial.inputs = [tensor for tensor in values if not tensor.constant]
    trial.outputs = inline(trial, called, values, caller)
    infer_and_fold(trial, target)
    return trial


@graph_rewrite()
def eliminate_dead_code(graph: Graph, target: Target) -> Attempts:
    """In reverse, so that operators that feed only dead ones are removed too."""
    for op in reversed(graph.ops):
        used = (graph.consumers(t) or graph.is_output(t) for t in op.outputs)
        if not any(used) and not _has_effect(graph, op):
            yield Attempt((op,))
            graph.remove(op)


def _has_effect(graph: Graph, op: Op) -> bool:
    """Whether it, or one that it runs, has no results, such as ASSIGN_VARIABLE."""
    return not all(each.outputs for each in run_by(op, graph.subgraphs))
