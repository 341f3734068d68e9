"""Resource variables are tensors that keep their content between runs.

v = VAR_HANDLE()   y = READ_VARIABLE(v)   ASSIGN_VARIABLE(v, z)
becomes   readers of y read the variable, which holds z after the run

What a READ_VARIABLE gives depends on the assignments before it, so the file's order counts.
"""

from __future__ import annotations

from ...devices import Profile
from ...errors import Finding, UnsupportedError
from ...events import Event, describe
from ...ir import Graph, Op, Tensor
from ..decompose.decomposition import assign
from ..rewrite import check
from .infer_and_fold import propagate

RULE = "resolve_variables"

Key = tuple[str, str]
"""The names by which handles of the same variable find each other."""


def resolve_variables(graph: Graph, profile: Profile) -> list[Event]:
    """Apply it to every variable (UnsupportedError where one has no fixed shape and type)."""
    events: list[Event] = []
    handles = _handles(graph)
    variables: dict[Key, Tensor] = {}
    current: dict[Key, Tensor] = {}
    for op in sorted(graph.ops, key=lambda op: op.index):
        if op.name not in ("CALL_ONCE", "READ_VARIABLE", "ASSIGN_VARIABLE"):
            continue
        events.append(Event(RULE, (describe(op),), None))
        if op.name == "CALL_ONCE":
            called = graph.subgraphs[op.attrs["init_subgraph_index"]]
            for key, value in _initial(called, profile).items():
                variables.setdefault(key, _variable(key, value))
                assert value.data is not None
                graph.contents[variables[key]] = value.data
        else:
            key = _key(op, handles)
            example = op.output if op.name == "READ_VARIABLE" else op.operand(1)
            variable = variables.setdefault(key, _variable(key, example))
            if op.name == "READ_VARIABLE":
                graph.replace(op.output, current.get(key, variable))
            else:
                current[key] = op.operand(1)
        graph.remove(op)
    for op in [op for op in graph.ops if op.name == "VAR_HANDLE"]:
        graph.remove(op)
    for key, value in current.items():
        assign(graph, variables[key], value)
    check(graph, RULE, everything=True)
    return events


def _handles(graph: Graph) -> dict[Tensor, Key]:
    return {
        op.output: (str(op.attrs.get("container", "")), str(op.attrs.get("shared_name", "")))
        for op in graph.ops
        if op.name == "VAR_HANDLE"
    }


def _key(op: Op, handles: dict[Tensor, Key]) -> Key:
    if op.operand(0) not in handles:
        reason = f"the variable {op.operand(0).name} is chosen while the model runs"
        advice = "use one variable for each handle"
        raise UnsupportedError([Finding(op.index, op.name, reason, advice)])
    return handles[op.operand(0)]


def _variable(key: Key, like: Tensor) -> Tensor:
    return Tensor("/".join(part for part in key if part), like.shape, like.dtype, variable=True)


def _initial(called: Graph, profile: Profile) -> dict[Key, Tensor]:
    """What a subgraph that runs once assigns (UnsupportedError unless these are constants)."""
    propagate(called, profile)
    handles = _handles(called)
    values = {}
    for op in called.ops:
        if op.name == "ASSIGN_VARIABLE":
            op.constant(1)
            values[_key(op, handles)] = op.operand(1)
    return values
