"""gated_delta_update: linear attention by the gated delta rule, as in Qwen3.5 (arXiv 2412.06464).

Operands: queries and keys [batch, key heads, steps, depth]; values [batch, heads, steps, width];
how much of a value is written, and the logarithm of what the state keeps, [batch, heads, steps];
and the state [batch, heads, depth, width]. Consecutive heads share keys. Each step computes

    s = exp(gate) * s    s = s + k (strength * (v - k^T s))^T    y = q^T s

Results: y of all steps, with the shape of the values, and the state after the last.
"""

from ...ir import Op, Shape
from ...target import Target
from ..base.definition import define, row_major
from ..base.launch import Launch, linear_grid

NAME = "gated_delta_update"


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


def _build(op: Op, target: Target) -> Launch:
    """A work-item computes a column of the state."""
    (_, sharers, _, depth), (batch, heads, steps, width) = (op.operand(i).shape for i in (1, 2))
    columns = batch * heads * width
    roles = ("queries", "keys", "values", "strength", "gate", "state")
    return Launch(
        "attention/gated_delta.jinja",
        linear_grid(columns),
        dict(zip(roles, op.reads, strict=True)),
        dict(zip(("y", "after"), op.outputs, strict=True)),
        variables={
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
