"""Branches and loops whose control flow follows from constants are replaced by what they run.

    y = IF(c, x)          becomes   the operators of the branch that the constant c selects
                                    or, where c is computed, t = branch for true(x)
                                    e = other one(x)   y = SELECT_V2(c, t, e)
    y = STABLEHLO_CASE(i, x)        the same among several: y = SELECT_V2(EQUAL(i, 0), first(x),
                                    SELECT_V2(EQUAL(i, 1), ...)), the last for any other i
    i, y = WHILE(i, x)    becomes   its body, once per iteration, if constants decide the condition

Running all branches, and those inside them, is possible where they keep nothing from run to run,
and pays where they are small. Each iteration may produce new constants, so shapes and constants are
inferred again after each.
Other branches and loops can only run on LiteRT, and are set aside.

Composite operators are replaced by the subgraph they decompose into:

    y = STABLEHLO_COMPOSITE(x) decomposition_subgraph_index=1
    becomes   the operators of subgraph 1
"""

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from ...errors import ModelError
from ...ir import Graph, Op, Tensor, constant
from ...ir.inline import inline, substitute
from ...ops.control_flow import BRANCHING, CONTROL
from ...target import Target
from ..decompose.resolve_variables import VARIABLES
from ..rewrite import Attempt, Attempts, graph_rewrite
from .infer_and_fold import infer_and_fold, tried

DEEPEST = 100  # Depth of nested calls after which the model is assumed to call itself.


@graph_rewrite(required=True)
def inline_subgraphs(graph: Graph, target: Target) -> Attempts:
    """Until no composite operator is left (ModelError if one calls itself or does not match)."""
    for _ in range(DEEPEST):
        composites = [op for op in graph.ops if op.name == "STABLEHLO_COMPOSITE"]
        if not composites:
            return
        for op in composites:
            called = graph.subgraphs[op.attrs["decomposition_subgraph_index"]]
            inputs = [op.operand(position) for position in range(len(op.inputs))]
            if (len(inputs), len(op.outputs)) != (len(called.inputs), len(called.outputs)):
                raise ModelError(
                    f"operator {op!r} has {len(inputs)} inputs and {len(op.outputs)} outputs, but "
                    f"its subgraph has {len(called.inputs)} and {len(called.outputs)}"
                )
            yield Attempt((op,))
            substitute(graph, op, inline(graph, called, inputs, op))
    raise ModelError(f"operator {composites[0]!r} calls itself")


MAX_ROUNDS = 1000  # Most iterations of a loop that is unrolled.
MAX_OPERATORS = 20_000  # Most operators of an unrolled loop.
MOST = 64  # Most operators of branches that all run, with those of the branches inside them.


@graph_rewrite()
def resolve_control_flow(graph: Graph, target: Target) -> Attempts:
    """Every branch and loop, including nested ones (ModelError if a subgraph does not match)."""
    while waiting := [op for op in graph.ops if op.name in CONTROL and op not in graph.set_aside]:
        for op in waiting:
            if op not in graph:
                continue
            if op.name in BRANCHING and op.operand(0).data is None:
                for called in _branches(graph, op)[0]:
                    _check(op, called, len(op.inputs) - 1, len(op.outputs))
                reason = _unselectable(graph, op, target)
                yield Attempt((op,), reason)
                if reason is None:
                    _select_branch(graph, op, target)
                else:
                    _set_aside(graph, op, reason, target)
                continue
            branching = op.name in BRANCHING
            bodies = _branch(graph, op) if branching else _rounds(graph, op, target)
            yield Attempt((op,), bodies if isinstance(bodies, str) else None)
            if isinstance(bodies, str):
                _set_aside(graph, op, bodies, target)
            else:
                _unroll(graph, op, bodies, target)


def _set_aside(graph: Graph, op: Op, reason: str, target: Target) -> None:
    """Leave an operator to LiteRT, which says what shapes its results have."""
    graph.set_aside[op] = op.finding(reason)
    infer_and_fold(graph, target)


def _branch(graph: Graph, op: Op) -> list[Graph]:
    """The branch that a constant selects."""
    branches, _ = _branches(graph, op)
    number = op.number(0)
    if op.name == "IF":
        called = branches[0 if number else 1]
    else:
        called = branches[int(number) if 0 <= number < len(branches) else -1]
    _check(op, called, len(op.inputs) - 1, len(op.outputs))
    return [called]


def _rounds(graph: Graph, op: Op, target: Target) -> list[Graph] | str:
    """The body, once per iteration, or why their number is not known."""
    condition = graph.subgraphs[op.attrs["cond_subgraph_index"]]
    body = graph.subgraphs[op.attrs["body_subgraph_index"]]
    _check(op, condition, len(op.inputs), 1)
    _check(op, body, len(op.inputs), len(op.inputs))
    values = [op.operand(position) for position in range(len(op.inputs))]
    size = 0
    for rounds in range(MAX_ROUNDS):
        holds = tried(graph, condition, values, op, target).outputs[0].data
        if holds is None:
            return "the number of iterations is known only while the model runs"
        if not holds.any():
            return [body] * rounds
        # Shapes and constants of one round are all that the next one needs of it.
        trial = tried(graph, body, values, op, target)
        values = trial.outputs
        size += len(trial)
        if size > MAX_OPERATORS:
            break
    return f"it has more than {MAX_ROUNDS} iterations or {MAX_OPERATORS} operators once unrolled"


def _unroll(graph: Graph, op: Op, called: list[Graph], target: Target) -> None:
    """Replace an operator by subgraphs, each of which reads the results of the one before."""
    first = 1 if op.name in BRANCHING else 0
    values = [op.operand(position) for position in range(first, len(op.inputs))]
    for subgraph in called:
        values = inline(graph, subgraph, values, op)
    substitute(graph, op, values)
    infer_and_fold(graph, target)


def _check(op: Op, called: Graph, inputs: int, outputs: int) -> None:
    if (len(called.inputs), len(called.outputs)) != (inputs, outputs):
        raise ModelError(
            f"operator {op!r} needs a subgraph with {inputs} inputs and {outputs} outputs, but the "
            f"one it refers to has {len(called.inputs)} and {len(called.outputs)}"
        )


def _unselectable(graph: Graph, op: Op, target: Target) -> str | None:
    """Why an operator whose branch is computed cannot run all of them; None if it can."""
    branches, values = _branches(graph, op)
    computed = f"the {'condition' if op.name == 'IF' else 'index'} is computed while the model runs"
    if op.operand(0).elements != 1:
        return f"{computed}, and it is not a single value"
    if len(branches) > MOST:
        return f"{computed}, and it has more than {MOST} branches"
    run = list(islice(_operators(graph, op), MOST + 1))
    if len(run) > MOST:
        return f"{computed}, and its branches have more than {MOST} operators"
    if any(map(_keeps, run)):
        return f"{computed}, and a branch keeps values from run to run or contains a loop"
    first, *others = (_forms(graph, op, branch, values, target) for branch in branches)
    if any(form != first for form in others):
        return f"{computed}, and its branches give results of unlike shapes or types"
    return None


def _select_branch(graph: Graph, op: Op, target: Target) -> None:
    """Replace an operator by all its branches, and selects for each result."""
    branches, values = _branches(graph, op)
    results = [inline(graph, branch, values, op) for branch in branches]
    conditions = _conditions(graph, op, len(branches))
    selected = []
    for output, (*choices, other) in zip(op.outputs, zip(*results, strict=True), strict=True):
        result = other
        for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
            operands = condition, choice, result
            result = Tensor(f"{output.name}/selected", choice.shape, choice.dtype)
            result.quantization = choice.quantization
            graph.add(Op("SELECT_V2", operands, (result,), {}, op.index, origins=op.origins))
        selected.append(result)
    substitute(graph, op, selected)
    infer_and_fold(graph, target)


def _conditions(graph: Graph, op: Op, branches: int) -> list[Tensor]:
    """Whether each branch but the last one is taken."""
    chooser = op.operand(0)

    def add(name: str, operands: tuple[Tensor, ...], result: Tensor, **attrs: object) -> Tensor:
        graph.add(Op(name, operands, (result,), attrs, op.index, origins=op.origins))
        return result

    # A condition with axes would give them to results of rank 0.
    scalar = Tensor(f"{chooser.name}/scalar", (), chooser.dtype)
    add("RESHAPE", (chooser,), scalar, new_shape=())
    if op.name == "IF":
        return [scalar]
    found = []
    for number in range(branches - 1):
        wanted = constant(f"{chooser.name}/{number}", np.array(number, np.int32))
        taken = Tensor(f"{chooser.name}/is_{number}", (), "bool")
        found.append(add("EQUAL", (scalar, wanted), taken))
    return found


def _branches(graph: Graph, op: Op) -> tuple[list[Graph], list[Tensor]]:
    """The branches, an IF's for true first, and what they read (ModelError if there are none)."""
    if op.name == "IF":
        called = [op.attrs[f"{name}_subgraph_index"] for name in ("then", "else")]
    else:
        called = op.attrs["branch_subgraph_indices"]
    if not called:
        raise op.invalid("no branches")
    values = [op.operand(position) for position in range(1, len(op.inputs))]
    return [graph.subgraphs[index] for index in called], values


def _operators(graph: Graph, op: Op) -> Iterator[Op]:
    """Those of all branches, and of branches inside them; endless if one contains itself."""
    for branch in _branches(graph, op)[0]:
        for other in branch.ops:
            yield other
            if other.name in BRANCHING:
                yield from _operators(graph, other)


def _keeps(op: Op) -> bool:
    """Whether an operator reads or writes what is kept between runs, or is a loop."""
    calls = op.name not in BRANCHING and any(key.endswith("_subgraph_index") for key in op.attrs)
    return calls or op.name in VARIABLES or any(tensor.variable for tensor in op.reads)


def _forms(
    graph: Graph, op: Op, branch: Graph, values: Sequence[Tensor], target: Target
) -> list[tuple[object, ...]]:
    """Shapes, types and quantization of the results of a branch."""
    trial = tried(graph, branch, values, op, target)
    resolve_control_flow(trial, target)
    return [(tensor.shape, tensor.dtype, tensor.quantization) for tensor in trial.outputs]
