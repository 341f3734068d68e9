"""Operators that a rewrite always decomposes: shape inference and numpy reference only."""

import numpy as np

from ..ir import Array, Op, Shape
from .base.definition import define
from .base.shapes import broadcast_shapes, same_as_first
from .base.storage import ANY, FLOATS, INTEGERS
from .base.traits import Traits
from .gather import check_indices


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
