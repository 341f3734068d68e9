"""Operators that a rewrite always decomposes: shape inference and numpy reference only."""

from math import prod

import numpy as np

from ...ir import Array, Op, Shape
from ..base.definition import define
from ..base.shapes import broadcast_shapes, same_as_first
from ..base.storage import ANY, FLOATS, INTEGERS
from ..base.traits import Traits
from ..indexing.gather import check_indices


def _log_softmax(op: Op, values: Array) -> Array:
    x = values - values.max(-1, keepdims=True)
    return np.asarray(x - np.log(np.exp(x).sum(-1, keepdims=True)))


def _l2_normalization(op: Op, x: Array) -> Array:
    length = np.sqrt(np.square(x).sum(-1, keepdims=True))
    return np.asarray(x / np.maximum(length, 1e-6))


def _infer_lookup(op: Op) -> list[Shape]:
    ids, table = op.operand(0).shape, op.operand(1).shape
    if len(ids) != 1 or not table:
        raise op.invalid(f"ids {list(ids)} must have rank 1, the table {list(table)} at least that")
    return [(*ids, *table[1:])]


def _lookup(op: Op, ids: Array, table: Array) -> Array:
    check_indices(op, ids, len(table))
    return table[ids]


def _infer_diagonal(op: Op) -> list[Shape]:
    shape = op.operand(0).shape
    if not shape:
        raise op.invalid("a scalar has no diagonal")
    return [(*shape, shape[-1])]


def _infer_set_diagonal(op: Op) -> list[Shape]:
    shape, diagonal = op.operand(0).shape, op.operand(1).shape
    if len(shape) < 2 or diagonal != (*shape[:-2], min(shape[-2:])):
        raise op.invalid(f"{list(diagonal)} is not the diagonal of {list(shape)}")
    return [shape]


define(
    "MATRIX_DIAG x:T -> y:T",
    _infer_diagonal,
    dtypes=ANY,
    note="becomes SELECT_V2 with a constant mask",
)
define(
    "ADD_N x:T+ -> y:T",
    broadcast_shapes,
    reference=lambda op, *arrays: sum(arrays[1:], arrays[0]),
    dtypes=(*FLOATS, *INTEGERS),
    note="becomes ADDs",
)
define(
    "EMBEDDING_LOOKUP ids:int16|int32|int64 table -> y",
    _infer_lookup,
    reference=_lookup,
    dtypes=ANY,
    note="becomes GATHER, also of indices out of bounds; a table of int8 or int4 stays packed",
    versions=5,
    traits=Traits(indexes=True),
)
define(
    "FAKE_QUANT x:T -> y:T",
    same_as_first,
    dtypes=FLOATS,
    note="becomes an elementwise operator of its own",
    versions=2,
)
define(
    "FlexErf x:T -> y:T",
    same_as_first,
    note="becomes an elementwise operator of its own, or part of a GELU; LiteRT has no kernel",
)
define(
    "L2_NORMALIZATION x:T -> y:T",
    same_as_first,
    reference=_l2_normalization,
    dtypes=FLOATS,
    note="becomes SUM, SQRT and DIV along the last axis",
    versions=2,
)
define(
    "LOCAL_RESPONSE_NORMALIZATION x:T -> y:T",
    same_as_first,
    dtypes=FLOATS,
    note="becomes CONV_2D with a band of ones and POW; NaN, infinities and overflow may make "
    "NaN of other channels of a pixel",
)
define(
    "LOG_SOFTMAX x:T -> y:T",
    same_as_first,
    reference=_log_softmax,
    dtypes=FLOATS,
    note="becomes SUM, LOG and SUB along the last axis",
    versions=2,
)
define(
    "MATRIX_SET_DIAG x:T diagonal:T -> y:T",
    _infer_set_diagonal,
    dtypes=ANY,
    note="becomes SELECT_V2 with a constant mask; LiteRT misplaces truth values",
)

EXPERT_OPERANDS = 7  # Operands of moe's float32 variant; the int8 one has more.
# Its supported activations, and whether each is the tanh approximation of GELU.
EXPERT_ACTIVATIONS = {"gelu": False, "gelu_tanh": True}


def expert_activation(op: Op) -> str:
    return str(op.attrs.get("activation", "gelu"))


def _infer_experts(op: Op) -> list[Shape]:
    """The shape of x (UnsupportedError for other weights or activations, ModelError for shapes).

    A mixture of experts (arXiv 1701.06538) of x [.., tokens, width]; the routing weights and
    the indices of the experts chosen for each token, both [.., tokens, chosen]; the gate and up
    projections [hidden, experts, 1, width]; the down projection [width, experts, 1, hidden]; and a
    scale per expert [experts].

        y[t] = sum over k of  weight[t, k] * scale[e] * down_e(activation(gate_e x[t]) * up_e x[t])

    where e = index[t, k].
    """
    kind = op.attrs.get("weight_type", "fp32")
    name = expert_activation(op)
    if len(op.inputs) != EXPERT_OPERANDS or kind != "fp32" or name not in EXPERT_ACTIVATIONS:
        reason = f"its weights are {kind} and its activation is {name!r}"
        advice = f"use fp32 weights with the activation {' or '.join(EXPERT_ACTIVATIONS)}"
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
    _infer_experts,
    dtypes=("float32", "int32"),
    note="float32 with GELU; every expert is computed for every token",
)


def places(op: Op) -> Array:
    """For each index, its place among the elements of the result, shape [count] (ModelError)."""
    shape, indices = _infer_sparse(op)[0], op.constant(0)
    rows = indices.reshape(-1, indices.shape[1] if indices.ndim == 2 else 1)
    try:
        return np.asarray(np.ravel_multi_index(tuple(rows.T), shape))
    except ValueError:
        raise op.invalid(f"an index is out of range for {list(shape)}") from None


def _infer_sparse(op: Op) -> list[Shape]:
    shape = tuple(op.integers(1))
    indices, values = op.operand(0).shape, op.operand(2).shape
    depth = indices[1] if len(indices) == 2 else 1
    count = prod(indices[:1])
    if len(indices) > 2 or depth != len(shape) or values not in ((), (count,)):
        raise op.invalid(
            f"indices {list(indices)} and values {list(values)} do not match the shape "
            f"{list(shape)}"
        )
    if op.operand(3).elements != 1:
        raise op.invalid(f"its default {op.operand(3).name} is no scalar")
    return [shape]


define(
    "SPARSE_TO_DENSE indices:integer shape:integer values:T default:T -> y:T",
    _infer_sparse,
    dtypes=ANY,
    note="becomes GATHER; the indices must be constants",
)


def dilations(op: Op) -> list[int]:
    """How far apart the elements are along each axis (ModelError)."""
    if op.name == "DILATE":
        steps = op.integers(1)
    else:
        steps = [1 + between for between in op.integers_in("interior_padding")]
    rank = len(op.operand(0).shape)
    fill = op.operand(len(op.inputs) - 1)
    if len(steps) != rank or min(steps, default=1) < 1 or fill.elements != 1:
        raise op.invalid(f"dilations {steps} and {fill.name} for rank {rank}")
    return steps


def edges(op: Op) -> list[tuple[int, int]]:
    """For each axis the elements to add before and after; negative numbers crop (ModelError)."""
    rank = len(op.operand(0).shape)
    if op.name == "DILATE":
        return [(0, 0)] * rank
    before, after = op.integers_in("edge_padding_low"), op.integers_in("edge_padding_high")
    if len(before) != rank or len(after) != rank:
        raise op.invalid(f"paddings {before} and {after} for rank {rank}")
    return list(zip(before, after, strict=True))


def _infer_dilated(op: Op) -> list[Shape]:
    sizes = zip(op.operand(0).shape, dilations(op), edges(op), strict=True)
    return [
        tuple(
            max(max((n - 1) * step + 1, 0) + before + after, 0)
            for n, step, (before, after) in sizes
        )
    ]


define(
    "DILATE x:T dilations:integer fill:T -> y:T",
    _infer_dilated,
    dtypes=ANY,
    note="becomes PADV2 and SLICE; the dilations must be constants",
)
define(
    "STABLEHLO_PAD x:T fill:T -> y:T", _infer_dilated, dtypes=ANY, note="becomes PADV2 and SLICE"
)
