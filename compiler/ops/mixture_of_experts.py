"""moe: LiteRT's custom operator for a mixture of experts (arXiv 1701.06538).

Operands: x [.., tokens, width]; the routing weights and the indices of the experts chosen for each
token, both [.., tokens, chosen]; the gate and up projections [hidden, experts, 1, width]; the down
projection [width, experts, 1, hidden]; and a scale per expert [experts].

    y[t] = sum over k of  weight[t, k] * scale[e] * down_e(activation(gate_e x[t]) * up_e x[t])

where e = index[t, k].
"""

from ..ir import Op, Shape
from .base.definition import define

OPERANDS = 7
"""Operands of the float32 variant; the int8 one has more."""

ACTIVATIONS = {"gelu": False, "gelu_tanh": True}
"""Supported activations, and whether each is the tanh approximation of GELU."""


def activation(op: Op) -> str:
    """The name of the experts' activation."""
    return str(op.attrs.get("activation", "gelu"))


def infer(op: Op) -> list[Shape]:
    """The shape of x (UnsupportedError for other weights or activations, ModelError for shapes)."""
    kind = op.attrs.get("weight_type", "fp32")
    if len(op.inputs) != OPERANDS or kind != "fp32" or activation(op) not in ACTIVATIONS:
        reason = f"its weights are {kind} and its activation is {activation(op)!r}"
        advice = f"use fp32 weights with the activation {' or '.join(ACTIVATIONS)}"
        raise op.unsupported(reason, advice)
    source, shares, chosen, gate, partner, last, factor = (op.operand(i).shape for i in range(7))
    hidden, experts, _, width = gate if len(gate) == 4 else (0, 0, 0, 0)
    fits = source[-1:] == (width,) and shares == chosen and shares[:-1] == source[:-1]
    fits &= gate == partner == (hidden, experts, 1, width) and last == (width, experts, 1, hidden)
    if not fits or not hidden * experts * width or op.operand(6).elements != experts:
        raise op.invalid(
            f"the shapes of x {list(source)}, routing weights {list(shares)}, indices "
            f"{list(chosen)}, projections {list(gate)}, {list(partner)}, {list(last)} and scales "
            f"{list(factor)} do not match"
        )
    return [source]


define(
    "moe x shares experts:integer gate up down scales more* -> y",
    infer,
    dtypes=("float32", "int32"),
    note="float32 with GELU; every expert is computed for every token",
)
