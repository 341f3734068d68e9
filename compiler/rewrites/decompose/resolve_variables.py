"""Resource variables become tensors that keep their content between runs.

    v = VAR_HANDLE()   y = READ_VARIABLE(v)   ASSIGN_VARIABLE(v, z)
    becomes   readers of y read the variable, whose content is z at the end of the run

The value of a READ_VARIABLE depends on the assignments before it in the file. All signatures of a
model share such a variable, by its container and name.
"""

from ...errors import Finding, UnsupportedError
from ...ir import Graph, Op, Tensor
from ...target import Target
from ..canonicalize.infer_and_fold import infer_and_fold
from ..rewrite import Attempt, Attempts, graph_rewrite
from .decomposition import assign

# The operators on variables, all of which this rewrite removes.
VARIABLES = ("ASSIGN_VARIABLE", "CALL_ONCE", "READ_VARIABLE", "VAR_HANDLE")

# Container and shared name, which handles of the same variable have in common.
Key = tuple[str, str]


@graph_rewrite(required=True)
def resolve_variables(graph: Graph, target: Target) -> Attempts:
    """Every variable (UnsupportedError if its handle or initial content is not a constant).

    ModelError for one that is read although nothing assigns it.
    """
    handles = _handles(graph)
    variables: dict[Key, Tensor] = {}
    current: dict[Key, Tensor] = {}
    assigned = {_key(op, handles) for op in graph.ops if op.name == "ASSIGN_VARIABLE"}
    for op in sorted(graph.ops, key=lambda op: op.index):
        if op.name not in VARIABLES or op.name == "VAR_HANDLE":
            continue
        yield Attempt((op,))
        if op.name == "CALL_ONCE":
            for key, value in initial_values(graph, op, target).items():
                variables.setdefault(key, _variable(key, value))
                graph.contents[variables[key]] = value.values
                assigned.add(key)
        else:
            key = _key(op, handles)
            example = op.output if op.name == "READ_VARIABLE" else op.operand(1)
            variable = variables.setdefault(key, _variable(key, example))
            variable.quantization = variable.quantization or example.quantization
            if op.name == "READ_VARIABLE":
                # Another choice may assign it.
                if not (key in assigned or target.shares_weights):
                    raise op.invalid(
                        f"nothing ever gives its variable {variable.name} a value; convert the "
                        f"model with from_saved_model or from_keras_model, which store it"
                    )
                graph.replace(op.output, current.get(key, variable))
            else:
                current[key] = op.operand(1)
        graph.remove(op)
    for op in [op for op in graph.ops if op.name == "VAR_HANDLE"]:
        graph.remove(op)
    for key, value in current.items():
        assign(graph, variables[key], value)
    graph.state += variables.values()


def unresolved_variable(graph: Graph, op: Op, target: Target) -> Finding | None:
    """Why an operator's variable cannot be kept on the device; None if it can."""
    try:
        if op.name == "CALL_ONCE":
            initial_values(graph, op, target)
        elif op.name in ("READ_VARIABLE", "ASSIGN_VARIABLE"):
            _key(op, _handles(graph))
    except UnsupportedError as error:
        return error.findings[0]
    return None


def _handles(graph: Graph) -> dict[Tensor, Key]:
    return {
        op.output: (str(op.attrs.get("container", "")), str(op.attrs.get("shared_name", "")))
        for op in graph.ops
        if op.name == "VAR_HANDLE"
    }


def _key(op: Op, handles: dict[Tensor, Key]) -> Key:
    if op.operand(0) not in handles:
        reason = f"its variable {op.operand(0).name} is selected while the model runs"
        advice = "read and assign each variable through its own VAR_HANDLE"
        raise op.unsupported(reason, advice)
    return handles[op.operand(0)]


def _variable(key: Key, like: Tensor) -> Tensor:
    return Tensor("/".join(part for part in key if part), like.shape, like.dtype, variable=True)


def initial_values(graph: Graph, op: Op, target: Target) -> dict[Key, Tensor]:
    """The values a CALL_ONCE assigns, by variable (UnsupportedError unless they are constants)."""
    called = graph.subgraphs[op.attrs["init_subgraph_index"]]
    infer_and_fold(called, target)
    handles = _handles(called)
    values = {}
    for assignment in called.ops:
        if assignment.name == "ASSIGN_VARIABLE":
            assignment.constant(1)
            values[_key(assignment, handles)] = assignment.operand(1)
    return values
