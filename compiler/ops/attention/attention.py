"""tflgpu.attention: softmax(scale * q k' + mask) v for each head, without storing the scores.

    q [batch, queries, heads * depth]        k [batch, keys, key heads * depth]
    v [batch, keys, key heads * width]       y [batch, queries, heads * width]

An operand may also have its heads as an axis of their own before the queries or keys, such as
q [batch, heads, queries, depth]. Several heads share one head of keys and values if there are
fewer of those. The mask, if there is one, is [batch, heads, keys, queries], any of these 1: a slice
has the numbers of neighbouring queries.

Keys are walked in blocks. The largest score so far and the sum of the powers are corrected from one
block to the next, as in FlashAttention (Dao et al., arXiv 2205.14135).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ....runtime.plan.storage import WORD
from ...ir import Array, Op, Shape, Tensor
from ...target import Target
from ..base.definition import Implementation, define, row_major
from ..base.launch import Launch
from ..base.parts import power_of_two, power_of_two_from
from ..base.storage import LINEAR, slice_count

NAME = "tflgpu.attention"

KEYS = 8  # Keys of a block on processors: their scores fill a quarter of the vector registers.
GROUP_ROWS = 8  # Queries of a work-group, unless there are fewer.
GROUP_KEYS = 32  # Keys of a block for a work-group.
GROUP = 64  # Work-items of a group.
# Most work-items of a group of fewer queries, each with a key of a block. Where groups are as few
# as heads, most of the time goes into waiting for memory.
FEW_GROUP = 256
# From so many keys of a block on, this many work-items find the largest score of each query.
MANY_KEYS = 128
MAXIMA = 16
MASKED = 5  # Buffers of a kernel with a mask: one for each operand, and one for the result.
# Most channels of a head: a work-item holds those of its queries and of their results.
LONGEST = 256
# Most slices of a query and its result that a work-item of a processor holds in registers, where it
# computes one: with 32 of them, products of matrices took 0.5 to 0.9 of the time.
HELD = 16
# Most bytes of the queries and results of a work-item of a processor, which its first cache holds
# beside blocks of keys: with 32 KB of them, products of matrices took 0.7 to 1 of the time.
HELD_BYTES = 1 << 14


@dataclass(frozen=True)
class Heads:
    """How the heads of a tensor lie in its axes."""

    count: int
    rows: int  # Queries or keys.
    depth: int  # Channels of a head.
    # Whether heads are an axis before the rows; otherwise they are parts of the channels.
    outer: bool

    @classmethod
    def of(cls, tensor: Tensor, count: int) -> Heads:
        *_, rows, channels = tensor.shape
        outer = len(tensor.shape) == 4
        return cls(count, rows, channels if outer else channels // count, outer)

    def in_front(self, x: Array) -> Array:
        """[batch, heads, rows, channels of a head] in numpy."""
        if self.outer:
            return x
        return x.reshape(len(x), self.rows, self.count, self.depth).swapaxes(1, 2)


def operands(op: Op) -> tuple[Heads, Heads, Heads]:
    """The heads of queries, keys and values."""
    heads, shared = op.attrs["heads"], op.attrs["key_heads"]
    counts = zip(op.inputs[:3], (heads, shared, shared), strict=True)
    q, k, v = (Heads.of(tensor, count) for tensor, count in counts if tensor is not None)
    return q, k, v


def infer(op: Op) -> list[Shape]:
    q, _, v = operands(op)
    batch = op.operand(0).shape[0]
    if op.attrs["joined"]:
        return [(batch, q.rows, q.count * v.depth)]
    return [(batch, q.count, q.rows, v.depth)]


def reference(op: Op, *arrays: Array) -> Array:
    heads = operands(op)
    q, k, v = (each.in_front(x) for each, x in zip(heads, arrays[:3], strict=True))
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    scores = op.attrs["scale"] * (q @ k.swapaxes(-1, -2))
    scores = scores + arrays[3].swapaxes(-1, -2) if len(arrays) > 3 else scores
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    result = powers / powers.sum(-1, keepdims=True) @ v
    return np.asarray(result.swapaxes(1, 2) if op.attrs["joined"] else result)


def unsuited(
    q: Heads, k: Heads, v: Heads, joined: bool, masked: bool, target: Target
) -> str | None:
    """Why the kernels do not compute an attention of such operands; None if they do."""
    limit = target.device.max_arguments
    if masked and limit < MASKED:
        return f"with a mask the kernel would need {MASKED} buffers, but the device allows {limit}"
    if max(q.depth, v.depth) > LONGEST:
        return f"heads of {max(q.depth, v.depth)} channels are longer than {LONGEST}"
    if _few(q, target):
        if any(x.depth % target.lanes for x in (q, k, v)):
            return "few queries need heads of whole slices"
        held = (q.depth + v.depth) // target.lanes
        return None if held <= HELD else f"few queries of {held} slices do not stay in registers"
    if _in_vectors(target) and WORD * (q.depth + v.depth) * target.lanes > HELD_BYTES:
        return f"queries of {q.depth} and results of {v.depth} channels do not stay in the cache"
    parts = [x for x in (q, k, v) if not x.outer and x.depth % target.lanes and x.count > 1]
    if parts or (joined and v.depth % target.lanes and q.count > 1):
        return "heads are not whole slices of channels"
    return None


def _unsuited(op: Op, target: Target) -> str | None:
    return unsuited(*operands(op), op.attrs["joined"], op.input(3) is not None, target)


def _few(q: Heads, target: Target) -> bool:
    """Whether queries would leave most lanes of a processor's vectors empty."""
    return target.on_processor and 2 * q.rows < target.lanes


def _in_vectors(target: Target) -> bool:
    """Whether a work-item computes as many queries as a vector has lanes."""
    return target.on_processor and target.language.pointers


def _vectors(op: Op, target: Target) -> str | None:
    reason, q = _unsuited(op, target), operands(op)[0]
    if reason is None and _few(q, target):
        return f"{q.rows} queries leave most lanes of a vector empty"
    return reason or (None if _in_vectors(target) else "work-items of a GPU hold too few registers")


def _rows(op: Op, target: Target) -> str | None:
    reason, q = _unsuited(op, target), operands(op)[0]
    return reason or (None if _few(q, target) else "other kernels compute several queries at once")


def _groups(op: Op, target: Target) -> str | None:
    reason = _unsuited(op, target)
    return reason or ("a work-group runs on a single core" if _in_vectors(target) else None)


def _groups_of_slices(op: Op, target: Target) -> str | None:
    halved = any(tensor.halved for tensor in op.reads)
    return _groups(op, target) or ("keys and values are rows of halves" if halved else None)


def _groups_of_rows(op: Op, target: Target) -> str | None:
    ragged = any(each.depth % target.lanes for each in operands(op))
    return _groups(op, target) or ("rows of heads are not whole slices" if ragged else None)


def reads_rows(op: Op, target: Target) -> bool:
    """Whether a work-group can compute it on rows of whole slices where they lie."""
    return _groups_of_rows(op, target) is None


def _launch(op: Op, template: str, columns: int, variables: Mapping[str, object]) -> Launch:
    q, k, v = operands(op)
    reads = dict(
        zip(("queries", "keys", "values", "mask"), (t for t in op.inputs if t), strict=False)
    )
    batch = op.operand(0).shape[0]
    return Launch.of(
        op,
        template,
        (columns, q.count, batch),
        reads=reads,
        variables={
            "query_heads": q,
            "key_heads": k,
            "value_heads": v,
            "scale": op.attrs["scale"],
            "joined_heads": op.attrs["joined"],
            **variables,
        },
        batches=batch,
        heavy=True,
        flops=2 * batch * q.count * q.rows * k.rows * (q.depth + v.depth),
    )


def _build_vectors(op: Op, target: Target) -> Launch:
    q, k, _ = operands(op)
    columns = -(-q.rows // target.lanes)
    return _launch(op, "attention/attention.jinja", columns, {"block": min(KEYS, k.rows)})


def _build_rows(op: Op, target: Target) -> Launch:
    return _launch(op, "attention/attention_rows.jinja", operands(op)[0].rows, {})


def _build_groups(op: Op, target: Target) -> Launch:
    q, k, v = operands(op)
    rows = min(GROUP_ROWS, power_of_two_from(q.rows))
    group, keys = GROUP, GROUP_KEYS
    if rows < GROUP_ROWS:
        most = power_of_two(min(FEW_GROUP, target.device.max_group))
        group = keys = max(GROUP, power_of_two_from(min(k.rows, most)))
    slice_items = min(group // rows, power_of_two_from(slice_count(v.depth, target)))
    tile = {
        "tile_rows": rows,
        "tile_keys": keys,
        "each_rows": rows * keys // group,
        "parts": group // rows // slice_items,
        "maxima_each": MAXIMA if keys >= MANY_KEYS else 0,
    }
    launch = _launch(op, "attention/attention_group.jinja", group * -(-q.rows // rows), tile)
    return replace(launch, group=(group, 1, 1), whole_slices=("queries", "keys", "values"))


IMPLEMENTATIONS = (
    Implementation("attention", _build_vectors, _vectors),
    row_major("attention_rows", _build_rows, _rows),
    Implementation("attention_group", _build_groups, _groups_of_slices),
    Implementation("attention_group_of_rows", _build_groups, _groups_of_rows, reads=LINEAR),
)

define(NAME, infer, IMPLEMENTATIONS, reference)
