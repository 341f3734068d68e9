"""Loops and branches whose course is known beforehand become the operators they run.

    y = IF(c, x)          becomes   the operators of the branch that the constant c chooses
    i, y = WHILE(i, x)    becomes   its body, as often as the condition holds by constants alone

Each round may give new constants, so shapes and constants are inferred anew after each. What is
left can only run on LiteRT, and is set aside.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import Finding, ModelError
from ...ir import Array, Graph, Op, Tensor
from ...ir.inline import inline, substitute
from ...target import Target
from ..rewrite import Attempt, graph_rewrite
from .infer_and_fold import infer_and_fold

MAX_ROUNDS = 1000
"""Rounds of a loop that are unrolled; one that goes on stays a loop."""
MAX_OPERATORS = 20_000


@graph_rewrite()
def resolve_control_flow(graph: Graph, target: Target) -> Iterator[Attempt]:
    """Every branch and loop, also those inside others (ModelError for one that is malformed)."""
    while waiting := [op for op in graph.ops if op.name in CONTROL and op not in graph.set_aside]:
        for op in waiting:
            if op not in graph:
                continue
            called = _branch(graph, op) if op.name == "IF" else _rounds(graph, op, target)
            yield Attempt((op,), called if isinstance(called, str) else None)
            if isinstance(called, str):
                graph.set_aside[op] = Finding(op.index, op.name, called)
            else:
                _unroll(graph, op, called, target)
    if any(op.name in CONTROL for op in graph.set_aside):
        infer_and_fold(graph, target)


CONTROL = ("IF", "WHILE")


def _branch(graph: Graph, op: Op) -> list[Graph] | str:
    """The branch that runs, or why that is not known."""
    condition = op.operand(0)
    if condition.data is None:
        return "the condition is computed while the model runs"
    chosen = "then" if condition.data.reshape(-1)[0] else "else"
    called = graph.subgraphs[op.attrs[f"{chosen}_subgraph_index"]]
    _check(op, called, len(op.inputs) - 1, len(op.outputs))
    return [called]


def _rounds(graph: Graph, op: Op, target: Target) -> list[Graph] | str:
    """The body as often as it runs, or why that is not known."""
    condition = graph.subgraphs[op.attrs["cond_subgraph_index"]]
    body = graph.subgraphs[op.attrs["body_subgraph_index"]]
    _check(op, condition, len(op.inputs), 1)
    _check(op, body, len(op.inputs), len(op.inputs))
    values = [op.operand(position) for position in range(len(op.inputs))]
    trial, size = _trial(graph, values), 0
    for rounds in range(MAX_ROUNDS):
        holds = _evaluate(trial, condition, op, values, target)
        if holds is None:
            return "how often it runs is only known while the model runs"
        if not holds.reshape(-1)[0]:
            return [body] * rounds
        values = inline(trial, body, values, op)
        trial.outputs = values
        infer_and_fold(trial, target)
        size = len(trial)
        if size > MAX_OPERATORS:
            break
    return f"it runs more than {MAX_ROUNDS} times, or would be {MAX_OPERATORS} operators"


def _trial(graph: Graph, values: list[Tensor]) -> Graph:
    """A graph in which a loop is tried."""
    trial = Graph()
    trial.subgraphs = graph.subgraphs
    trial.inputs = [tensor for tensor in values if not tensor.constant]
    return trial


def _evaluate(
    trial: Graph, condition: Graph, op: Op, values: list[Tensor], target: Target
) -> Array | None:
    """What a condition gives for those values, where that follows from constants alone."""
    alone = _trial(trial, values)
    alone.outputs = inline(alone, condition, values, op)
    infer_and_fold(alone, target)
    return alone.outputs[0].data


def _unroll(graph: Graph, op: Op, called: list[Graph], target: Target) -> None:
    """Put subgraphs, one behind the other, in the place of an operator."""
    first = 1 if op.name == "IF" else 0
    values = [op.operand(position) for position in range(first, len(op.inputs))]
    for subgraph in called:
        values = inline(graph, subgraph, values, op)
    substitute(graph, op, values)
    infer_and_fold(graph, target)


def _check(op: Op, called: Graph, inputs: int, outputs: int) -> None:
    if (len(called.inputs), len(called.outputs)) != (inputs, outputs):
        raise ModelError(
            f"operator {op!r} needs a subgraph of {inputs} inputs and {outputs} outputs, the one "
            f"it names has {len(called.inputs)} and {len(called.outputs)}"
        )
