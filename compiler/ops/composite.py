"""Operators that a rewrite always decomposes: shape inference and numpy reference only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir import Array, Op, Shape
from .base import (
    ANY,
    FLOATS,
    INTEGERS,
    NO_TRAITS,
    Infer,
    OpDef,
    Reference,
    Traits,
    broadcast_shapes,
    define,
    same_as_first,
)


def _add_n(op: Op, arrays: Sequence[Array]) -> Sequence[Array]:
    return [np.asarray(sum(arrays[1:], arrays[0]))]


def _log_softmax(op: Op, arrays: Sequence[Array]) -> Sequence[Array]:
    x = arrays[0] - arrays[0].max(-1, keepdims=True)
    return [x - np.log(np.exp(x).sum(-1, keepdims=True))]


def _l2_normalization(op: Op, arrays: Sequence[Array]) -> Sequence[Array]:
    length = np.sqrt(np.square(arrays[0]).sum(-1, keepdims=True))
    return [arrays[0] / np.maximum(length, 1e-6)]


def _infer_lookup(op: Op) -> list[Shape]:
    ids, table = op.operand(0).shape, op.operand(1).shape
    if len(ids) != 1 or not table:
        raise op.invalid(f"ids {list(ids)} must have rank 1, the table {list(table)} at least that")
    return [(*ids, *table[1:])]


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


def _composite(
    name: str,
    infer: Infer,
    note: str,
    reference: Reference | None = None,
    dtypes: tuple[str, ...] = FLOATS,
    versions: int = 1,
    traits: Traits = NO_TRAITS,
) -> OpDef:
    note = f"becomes {note}"
    return OpDef(name, infer, (), reference, dtypes, note=note, versions=versions, traits=traits)


define(
    _composite("MATRIX_DIAG", _infer_diagonal, "SELECT_V2 with a constant mask", None, ANY),
    _composite("ADD_N", broadcast_shapes, "ADDs", _add_n, (*FLOATS, *INTEGERS)),
    _composite(
        "EMBEDDING_LOOKUP",
        _infer_lookup,
        "GATHER, also of indices out of bounds; a table of int8 or int4 stays packed",
        None,
        ANY,
        versions=5,
        traits=Traits(indexes=True),
    ),
    _composite("FAKE_QUANT", same_as_first, "an elementwise operator of its own", versions=2),
    _composite(
        "L2_NORMALIZATION",
        same_as_first,
        "SUM, SQRT and DIV along the last axis",
        _l2_normalization,
        versions=2,
    ),
    _composite(
        "LOCAL_RESPONSE_NORMALIZATION",
        same_as_first,
        "CONV_2D with a band of ones and POW; NaN, infinities and overflow may make NaN of other "
        "channels of a pixel",
    ),
    _composite(
        "LOG_SOFTMAX",
        same_as_first,
        "SUM, LOG and SUB along the last axis",
        _log_softmax,
        versions=2,
    ),
    _composite(
        "MATRIX_SET_DIAG",
        _infer_set_diagonal,
        "SELECT_V2 with a constant mask; LiteRT misplaces truth values",
        None,
        ANY,
    ),
)
