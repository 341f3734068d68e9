"""A branch whose condition is computed: both branches run, and a select takes the results of one.

    y = IF(c, x)    becomes   t = branch for true(x)   e = other one(x)   y = SELECT_V2(c, t, e)

That is possible where branches keep nothing from run to run, and pays where they are small.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import Graph, Op, Tensor
from ...ir.inline import inline, substitute
from ...target import Target
from ..decompose.resolve_variables import VARIABLES
from .infer_and_fold import infer_and_fold

MOST = 64
"""Operators of both branches together."""


def unselectable(graph: Graph, op: Op, target: Target) -> str | None:
    """Why an IF whose condition is computed cannot run both branches; None if it can."""
    branches, values = _parts(graph, op)
    computed = "the condition is computed while the model runs"
    if op.operand(0).elements != 1:
        return f"{computed}, and it is not a single value"
    if sum(map(len, branches)) > MOST:
        return f"{computed}, and its branches have more than {MOST} operators"
    if any(_keeps(other) for branch in branches for other in branch.ops):
        return f"{computed}, and a branch keeps values from run to run or calls a subgraph"
    first, second = (_forms(graph, op, branch, values, target) for branch in branches)
    if first != second:
        return f"{computed}, and its branches give results of unlike shapes or types"
    return None


def select_branch(graph: Graph, op: Op, target: Target) -> None:
    """Replace an IF by both branches, and a select for each result."""
    branches, values = _parts(graph, op)
    results = zip(*(inline(graph, branch, values, op) for branch in branches), strict=True)
    selected = []
    for output, (first, second) in zip(op.outputs, results, strict=True):
        result = Tensor(f"{output.name}/selected", first.shape, first.dtype)
        result.quantization = first.quantization
        operands = (op.operand(0), first, second)
        graph.add(Op("SELECT_V2", operands, (result,), {}, op.index, origins=op.origins))
        selected.append(result)
    substitute(graph, op, selected)
    infer_and_fold(graph, target)


def _parts(graph: Graph, op: Op) -> tuple[list[Graph], list[Tensor]]:
    """The branches for true and for false, and what they read."""
    branches = [graph.subgraphs[op.attrs[f"{name}_subgraph_index"]] for name in ("then", "else")]
    return branches, [op.operand(position) for position in range(1, len(op.inputs))]


def _keeps(op: Op) -> bool:
    """Whether an operator reads or writes what is kept between runs, or calls other subgraphs."""
    calls = any(key.endswith("_subgraph_index") for key in op.attrs)
    return calls or op.name in VARIABLES or any(tensor.variable for tensor in op.reads)


def _forms(
    graph: Graph, op: Op, branch: Graph, values: Sequence[Tensor], target: Target
) -> list[tuple[object, ...]]:
    """Shapes, types and quantization of the results of a branch."""
    trial = Graph()
    trial.subgraphs = graph.subgraphs
    trial.inputs = [tensor for tensor in values if not tensor.constant]
    trial.outputs = inline(trial, branch, values, op)
    infer_and_fold(trial, target)
    return [(tensor.shape, tensor.dtype, tensor.quantization) for tensor in trial.outputs]
