"""moe: LiteRT's custom operator for a mixture of experts (arXiv 1701.06538).

Operands: x [.., tokens, width], for each token the share of each expert chosen and its number
[.., tokens, chosen], the experts' gates and their partners [hidden, experts, 1, width], what they
end with [width, experts, 1, hidden], and a factor for each expert.

    y[t] = sum over k of  share[t, k] * factor[e] * last_e(activation(gate_e x[t]) * partner_e x[t])

where e is the number of the expert that is chosen[t, k].
"""

from __future__ import annotations

from ..errors import Finding, ModelError, UnsupportedError
from ..ir import Op, Shape
from .base import OpDef, define

OPERANDS = 7
"""Operands of experts in floats; those in int8 have more."""

ACTIVATIONS = {"gelu": False, "gelu_tanh": True}
"""Activations by name: whether GELU is approximated."""


def activation(op: Op) -> str:
    """The name of the experts' activation."""
    return str(op.attrs.get("activation", "gelu"))


def infer(op: Op) -> list[Shape]:
    """The shape of x (UnsupportedError for another kind of experts)."""
    kind = op.attrs.get("weight_type", "fp32")
    if len(op.inputs) != OPERANDS or kind != "fp32" or activation(op) not in ACTIVATIONS:
        reason = f"experts in {kind} with the activation {activation(op)!r}"
        advice = f"fp32 with {' or '.join(ACTIVATIONS)} is known"
        raise UnsupportedError([Finding(op.index, op.name, reason, advice)])
    source, shares, chosen, gate, partner, last, factor = (op.operand(i).shape for i in range(7))
    hidden, experts, _, width = gate if len(gate) == 4 else (0, 0, 0, 0)
    fits = source[-1:] == (width,) and shares == chosen and shares[:-1] == source[:-1]
    fits &= gate == partner == (hidden, experts, 1, width) and last == (width, experts, 1, hidden)
    if not fits or not hidden * experts * width or op.operand(6).elements != experts:
        raise ModelError(
            f"operator {op.index} {op.name}: x {list(source)}, shares {list(shares)} of "
            f"{list(chosen)}, experts {list(gate)}, {list(partner)}, {list(last)}, {list(factor)}"
        )
    return [source]


define(
    OpDef(
        "moe",
        infer,
        (),
        None,
        ("float32", "int32"),
        note="in floats, with GELU; every expert is computed for every token",
    )
)
