"""gated_delta_update: linear attention by the gated delta rule, as in Qwen3.5 (arXiv 2412.06464).

Operands: queries and keys [batch, key heads, steps, depth]; values [batch, heads, steps, width];
how much of a value is written, and the logarithm of what the state keeps, [batch, heads, steps];
and the state [batch, heads, depth, width]. Consecutive heads share keys. Each step computes

    s = exp(gate) * s    s = s + k (strength * (v - k^T s))^T    y = q^T s

Results: y of all steps, with the shape of the values, and the state after the last.

These are more tensors than some devices have buffers. There, GATED_DELTA_OF_ONE reads all operands
from one tensor, in which they follow each other, and writes both results to another; its attribute
`shapes` are those of the operands.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import prod

from ...ir import Op, Shape, Tensor
from ...target import Target
from ..base.definition import define, row_major
from ..base.launch import Launch, linear_grid

NAME = "gated_delta_update"
GATED_DELTA_OF_ONE = "tflgpu.gated_delta_of_one"

OPERANDS = ("queries", "keys", "values", "strength", "gate", "state")


def _infer(op: Op) -> list[Shape]:
    queries, keys, values, strength, gate, state = (op.operand(i).shape for i in range(6))
    if len(values) != 4 or len(keys) != 4 or len(state) != 4:
        raise op.invalid(f"keys {list(keys)}, values {list(values)} or state have not four axes")
    batch, heads, steps, width = values
    fits = queries == keys == (batch, keys[1], steps, keys[3])
    fits &= keys[1] > 0 and heads % keys[1] == 0
    fits &= strength == gate == (batch, heads, steps) and state == (batch, heads, keys[3], width)
    if not fits:
        raise op.invalid(
            f"the shapes of queries {list(queries)}, keys {list(keys)}, values {list(values)}, "
            f"strengths {list(strength)}, gates {list(gate)} and state {list(state)} do not match"
        )
    return [values, state]


def _infer_of_one(op: Op) -> list[Shape]:
    *_, values, _, _, state = op.attrs["shapes"]
    return [(prod(values) + prod(state),)]


def _build(op: Op, target: Target) -> Launch:
    shapes = [tensor.shape for tensor in op.reads]
    reads = dict(zip(OPERANDS, op.reads, strict=True))
    writes = {"y": op.outputs[0], "after": op.outputs[1]}
    return _launch(shapes, reads, writes, dict.fromkeys((*OPERANDS, "after"), 0))


def _build_of_one(op: Op, target: Target) -> Launch:
    shapes = op.attrs["shapes"]
    begun = accumulate(map(prod, shapes), initial=0)
    starts = dict(zip(OPERANDS, begun, strict=False), after=prod(shapes[2]))
    return _launch(shapes, {"x": op.operand(0)}, {"y": op.output}, starts)


def _launch(
    shapes: Sequence[Shape],
    reads: Mapping[str, Tensor],
    writes: Mapping[str, Tensor],
    starts: Mapping[str, int],
) -> Launch:
    """A work-item computes a column of the state; `starts` is where each begins in its tensor."""
    (_, sharers, _, depth), (batch, heads, steps, width) = shapes[1:3]
    columns = batch * heads * width
    return Launch(
        "attention/gated_delta.jinja",
        linear_grid(columns),
        reads,
        writes,
        variables={
            "joined": "x" in reads,
            "starts": starts,
            "shape": (batch * heads, width),
            "sharing": heads // sharers,
            "exponential": lambda f, v: f.exp(v),
            "steps": steps,
            "depth": depth,
            "width": width,
        },
        heavy=True,
        flops=7 * columns * steps * depth,
    )


define(
    f"{NAME} queries keys values strength gate state -> y after",
    _infer,
    (row_major("gated_delta", _build, fuses=False),),
    note="LiteRT has a kernel for GPUs alone",
)
define(
    GATED_DELTA_OF_ONE,
    _infer_of_one,
    (row_major("gated_delta_of_one", _build_of_one, fuses=False),),
)
