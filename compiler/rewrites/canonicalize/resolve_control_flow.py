"""Loops and branches whose course is known beforehand are written out.

y = IF(c, x)          becomes   the operators of the branch that the constant c chooses
i, y = WHILE(i, x)    becomes   its body, as often as the condition holds by constants alone

Each round may give new constants, so constants are propagated after each.
"""

from __future__ import annotations

from ...devices import Profile
from ...errors import ModelError
from ...events import Event, describe
from ...ir import Array, Graph, Op, Tensor
from ...ir.subgraph import inline, substitute
from ..rewrite import check
from .infer_and_fold import propagate

RULE = "resolve_control_flow"

MOST_ROUNDS = 1000
"""Rounds of a loop that are written out; one that goes on is left as it is."""
MOST_OPERATORS = 20_000


def resolve_control_flow(graph: Graph, profile: Profile) -> list[Event]:
    """Apply it to every branch and loop (ModelError for one that does not fit its subgraphs)."""
    events: list[Event] = []
    waiting = True
    while waiting:
        waiting = False
        for op in graph.ops:
            if op.name in ("IF", "WHILE") and op in graph:
                resolve = _branch if op.name == "IF" else _loop
                name = describe(op)
                reason = resolve(graph, op, profile)
                known = Event(RULE, (name,), reason)
                if reason is None:
                    waiting = True
                if known not in events or reason is None:
                    events.append(known)
                check(graph, RULE)
    return events


def _branch(graph: Graph, op: Op, profile: Profile) -> str | None:
    condition = op.operand(0)
    if condition.data is None:
        return "the condition is computed while the model runs"
    chosen = "then" if condition.data.reshape(-1)[0] else "else"
    called = graph.subgraphs[op.attrs[f"{chosen}_subgraph_index"]]
    inputs = [op.operand(position) for position in range(1, len(op.inputs))]
    _check(op, called, len(inputs), len(op.outputs))
    substitute(graph, op, inline(graph, called, inputs, op.index))
    propagate(graph, profile)
    return None


def _loop(graph: Graph, op: Op, profile: Profile) -> str | None:
    condition = graph.subgraphs[op.attrs["cond_subgraph_index"]]
    body = graph.subgraphs[op.attrs["body_subgraph_index"]]
    _check(op, condition, len(op.inputs), 1)
    _check(op, body, len(op.inputs), len(op.inputs))
    for _ in range(MOST_ROUNDS):
        values = [op.operand(position) for position in range(len(op.inputs))]
        holds = _evaluate(condition, values, profile)
        if holds is None:
            return "how often it runs is only known while the model runs"
        if not holds.reshape(-1)[0]:
            substitute(graph, op, values)
            return None
        graph.set_inputs(op, inline(graph, body, values, op.index))
        propagate(graph, profile)
        if len(graph) > MOST_OPERATORS:
            break
    return f"it runs more than {MOST_ROUNDS} times, or would be {MOST_OPERATORS} operators"


def _evaluate(called: Graph, values: list[Tensor], profile: Profile) -> Array | None:
    """What a subgraph gives for those values, where that follows from constants alone."""
    alone = Graph()
    alone.subgraphs = called.subgraphs
    alone.inputs = [tensor for tensor in values if not tensor.constant]
    alone.outputs = inline(alone, called, values, 0)
    propagate(alone, profile)
    return alone.outputs[0].data


def _check(op: Op, called: Graph, inputs: int, outputs: int) -> None:
    if (len(called.inputs), len(called.outputs)) != (inputs, outputs):
        raise ModelError(f"operator {op.index} {op.name} does not fit its subgraph")
