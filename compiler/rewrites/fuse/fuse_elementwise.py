"""Elementwise operators are rendered into the store of the operator that feeds them.

    t = CONV_2D(x, w)   y = ADD(t, r)   z = RELU(y)
    becomes   z = CONV_2D(x, w) | ADD(%0, r) | RELU(%1)

    s = LOGISTIC(x)   y = MUL(x, s)      with x = CONV_2D(i, w) read by nothing else
    becomes   y = CONV_2D(i, w) | LOGISTIC(%0) | MUL(%0, %1)

Of several operands that could take it in, the one computed last does, since the others are there
by then. An operand may broadcast into the result, the host's value may not.
"""

from __future__ import annotations

from ...devices import Profile
from ...events import Event, describe
from ...ir import Graph, Op, Post, Tensor
from ...ops import OPS
from ...ops.elementwise import ELEMENTWISE
from ..rewrite import check

RULE = "fuse_elementwise"


def fuse_elementwise(graph: Graph, profile: Profile) -> list[Event]:
    """Apply it along the order of execution, so that chains grow operator by operator.

    An operator that took others in may thereby have become the only reader of its own operands,
    so it is tried again: that is how diamonds such as x * LOGISTIC(x) end up in one kernel.
    """
    events: list[Event] = []
    order = {op: position for position, op in enumerate(graph.ops)}
    for op in list(order):
        host: Op | None = op
        while host is not None and host.name in ELEMENTWISE:
            host = _take_in(graph, host, order, profile, events)
    return events


def _take_in(
    graph: Graph, op: Op, order: dict[Op, int], profile: Profile, events: list[Event]
) -> Op | None:
    """Fuse an operator into one of those that feed it; returns that one.

    Elementwise ones come first: together they can then go into the store of yet another one.
    """
    hosts = {host for tensor in op.reads if (host := graph.producer(tensor))}
    declined: Event | None = None
    for host in sorted(hosts, key=lambda host: (host.name not in ELEMENTWISE, -order[host])):
        objection = _objection(graph, host, op, profile)
        if objection is None:
            events.append(Event(RULE, (describe(host), describe(op)), None))
            append(graph, host, op)
            order[host] = order[op]
            check(graph, RULE)
            return host
        declined = Event(RULE, (describe(host), describe(op)), objection)
    events += [declined] if declined else []
    return None


def _objection(graph: Graph, host: Op, op: Op, profile: Profile) -> str | None:
    """Why an operator cannot be rendered into the store of another."""
    objection = unfit(host, op, profile)
    if objection is None and graph.only_reader(host.output) is not op:
        return "others need the value, too"
    return objection


def unfit(host: Op, op: Op, profile: Profile, results: int = 1) -> str | None:
    """Why the kernel of an operator, writing that many tensors, cannot compute another one, too."""
    definition = OPS.get(host.name)
    if definition is None or not definition.kernels:
        return f"{host.name} has no kernel"
    if not all(kernel.fuses for kernel in definition.kernels) or len(host.outputs) != 1:
        return f"{host.name} takes in no elementwise operators"
    if host.output.shape != op.output.shape:
        return "the value broadcasts"
    if any(tensor.dtype != "float32" for tensor in (*op.reads, host.output, op.output)):
        return "not all values are float32"
    operands = {t for t in (*host.post_inputs, *op.reads, *op.post_inputs) if not t.constant}
    inputs = {t for t in host.inputs if t is not None and not t.constant}
    operands -= {host.output}
    # What both read is bound twice where a kernel reads another storage than its post-operators.
    mixed = any(kernel.reads != kernel.operands for kernel in definition.kernels)
    distinct = len(operands) + len(inputs) if mixed else len(operands | inputs)
    buffers = distinct + 1 + results
    if buffers > profile.max_arguments:
        return f"the kernel would need {buffers} buffers of {profile.max_arguments}"
    return None


def append(graph: Graph, host: Op, op: Op, keep: bool = False) -> None:
    """Append an operator, and the post-operators it has, to the host's.

    With `keep` the value it goes on from becomes a second output of the host.
    """
    kept = (host.output,) if keep else ()
    value = -1 - len(host.post)
    extra: list[Tensor] = list(host.post_inputs)

    def outside(tensor: Tensor) -> int:
        if tensor not in extra:
            extra.append(tensor)
        return extra.index(tensor)

    own = tuple(
        value if tensor is host.output else outside(tensor)
        for tensor in op.inputs
        if tensor is not None
    )
    steps = [Post(op.name, own, op.attrs, op.index)]
    for post in op.post:
        # The operator's own value, -1 to its posts, is the value its first step leaves.
        moved = (
            i + value
            if i < 0
            else value
            if op.post_inputs[i] is host.output
            else outside(op.post_inputs[i])
            for i in post.operands
        )
        steps.append(Post(post.name, tuple(moved), post.attrs, post.index))
    result = op.output
    graph.remove(op)
    host.post = (*host.post, *steps)
    graph.set_inputs(host, host.inputs, extra)
    graph.set_outputs(host, (result, *kept))
    host.stored = (-1 - value,) if keep else ()
