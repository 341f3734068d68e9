"""Attention spelled out as products of matrices and a softmax becomes one operator.

    s = BATCH_MATMUL(q, k) adj_y=True   t = MUL(s, 0.125)   u = ADD(t, mask)   p = SOFTMAX(u)
    y = BATCH_MATMUL(p, v)
    becomes   y = tflgpu.attention(q, k, v, mask) scale=0.125

with the reshapes and transposes between, and the mask transposed. What leads to q, k and v by
moving elements alone, such as transposes that bring heads to the front and BROADCAST_TO for heads
that share keys, is traced back to the tensor that the projection computed, where its heads are
parts of the channels; so is what follows y. Queries of heads that share keys may be rows of one
matrix:

    s = BATCH_MATMUL(q: [1,4*9,16], k: [1,7,16]) adj_y=True   t = RESHAPE(s) new_shape=(4,9,7)
    u = ADD(t, mask: [9,7])

A factor for each head, such as t = MUL(s: [4,9,7], f: [4,1,1]), multiplies the queries instead.

Scores may also be replaced where a condition holds: u = SELECT_V2(hidden, -inf, t).
"""

from dataclasses import dataclass
from itertools import chain
from math import prod

import numpy as np

from ...ir import Graph, Op, Shape, Tensor
from ...ops import RESHAPES
from ...ops.attention.attention import NAME, unsuited
from ...ops.reduce.softmax import softmax_axis
from ...target import Target
from ..decompose.decomposition import Decomposition
from ..rewrite import Attempt, Attempts, graph_rewrite
from .attention_operands import (
    Mask,
    Operand,
    four_axes,
    hiding,
    operand_of,
    part_of,
    sum_of_masks,
    without_ones,
)
from .moved_elements import followers, sources
from .region import used_elsewhere


@dataclass(frozen=True)
class Scores:
    """What is computed between the two products."""

    # The product of queries and keys, and what follows up to the second product.
    ops: tuple[Op, ...]
    scale: float
    # What the scores are multiplied by that is the same for all scores of a head.
    factors: tuple[Tensor, ...]
    masks: tuple[Mask, ...]  # What is added to the scaled scores.
    shape: Shape  # The shape of the scores where masks are added, or heads have factors.


@dataclass(frozen=True)
class Attention:
    batch: int
    heads: int
    q: Operand
    k: Operand
    v: Operand
    scores: Scores
    scale: float
    region: tuple[Op, ...]
    joined: bool  # Whether the result has its heads in the channels.


@graph_rewrite()
def recognize_attention(graph: Graph, target: Target) -> Attempts:
    """For every product of matrices whose first operand comes from a softmax of another."""
    for second in graph.ops:
        scores = _scores(graph, second) if second in graph else None
        if scores is None:
            continue
        found = _attention(graph, scores, second, target)
        if isinstance(found, str):
            yield Attempt((*scores.ops, second), found)
            continue
        yield Attempt(found.region)
        here = Decomposition(graph, found.region[-1], target)
        here.apply(_build(here, found))


def _scores(graph: Graph, second: Op) -> Scores | None:
    """The chain from the first product to the second; None if there is none."""
    if second.name != "BATCH_MATMUL" or second.attrs.get("adj_x") or second.epilogue:
        return None
    ops: list[Op] = []
    masks: list[Mask] = []
    factors: list[Tensor] = []
    scale, shape, normalized = 1.0, second.operand(0).shape, False
    tensor = second.operand(0)
    while True:
        op = graph.producer(tensor)
        if op is None or op.epilogue or len(op.outputs) != 1:
            return None
        ops.append(op)
        tensor = op.operand(0)
        if op.name == "SOFTMAX":
            last = softmax_axis(op) == len(tensor.shape) - 1
            if normalized or not last or op.attrs.get("beta", 0.0) != 1:
                return None
            normalized = True
        elif op.name in RESHAPES and tensor.shape[-1:] == op.output.shape[-1:]:
            pass
        elif not normalized:
            return None
        elif op.name in ("MUL", "DIV") and op.operand(1).number is not None:
            factor = op.operand(1).number
            scale *= factor if op.name == "MUL" else 1 / factor
        elif op.name in ("ADD", "MUL", "SELECT", "SELECT_V2"):
            *condition, one, two = (each for each in op.inputs if each is not None)
            first = not one.constant and one.elements == op.output.elements
            tensor, other = (one, two) if first else (two, one)
            own = without_ones(op.output.shape)
            if tensor.elements != op.output.elements or ((masks or factors) and own != shape):
                return None
            added = Mask(other) if op.name == "ADD" else None
            mask = hiding(op, other, kept=first) if condition else added
            if mask is not None and scale == 1 and not factors:
                masks.append(mask)
            elif op.name == "MUL" and (1, 1, *other.shape)[-2:] == (1, 1):
                factors.append(other)
            else:
                return None
            shape = own
        elif op.name == "BATCH_MATMUL" and not op.attrs.get("adj_x"):
            return Scores(tuple(reversed(ops)), scale, tuple(factors), tuple(masks), shape)
        else:
            return None


def _attention(graph: Graph, scores: Scores, second: Op, target: Target) -> Attention | str:
    """The attention that ends in the product `second`, or why there is none."""
    first = scores.ops[0]
    counts = {prod(op.output.shape[:-2]) for op in (first, second)}
    if len(counts) > 1 or len(scores.shape) > 4:
        return "the products have different batches"
    others = (*(mask.tensor for mask in scores.masks), *scores.factors)
    heads, several = prod(scores.shape[:-2]), any(prod(t.shape[:-2]) > 1 for t in others)
    if heads % counts.pop():
        return "masks or factors are for other heads than those of the products"
    if several and len(scores.shape) == 4:
        batches = [scores.shape[0]]
    else:
        moved = (tensor.shape[:1] for tensor, _, _ in sources(graph, first.operand(0)))
        sizes = sorted({1, *chain.from_iterable(moved)})
        batches = [1] if several else [size for size in sizes if heads % size == 0]
    reasons = []
    found = []
    for batch in batches:
        attention = _with_batch(graph, scores, second, batch, heads // batch, target)
        if isinstance(attention, str):
            reasons.append(attention)
        else:
            found.append(attention)
    if not found:
        return reasons[0]
    return max(found, key=_gain)


def _gain(found: Attention) -> tuple[int, int]:
    """What is better of two ways to see an attention: keys that heads share, then fewer moves."""
    matrices = found.batch * found.k.heads.count
    return -matrices, found.joined - found.q.heads.outer - found.k.heads.outer


def _with_batch(
    graph: Graph, scores: Scores, second: Op, batch: int, heads: int, target: Target
) -> Attention | str:
    """The attention with so many batches and heads, or why there is none."""
    first = scores.ops[0]
    lanes = target.lanes
    wanted = [
        ("queries", first, first.operand(0), {"split": True}),
        ("keys", first, first.operand(1), {"turned": not first.attrs.get("adj_y")}),
        ("values", second, second.operand(1), {"turned": bool(second.attrs.get("adj_y"))}),
    ]
    operands = []
    for name, product, tensor, how in wanted:
        outer = product.output.shape[:-2]
        operand = operand_of(graph, tensor, outer, batch, heads, lanes, **how)
        if operand is None:
            return f"the heads of the {name} lie in no order that the kernel reads"
        operands.append(operand)
    q, k, v = operands
    if k.heads.count != v.heads.count or v.factor != 1:
        return "keys and values have different heads, or values are scaled"
    if not q.heads.outer and any(not t.constant and t.elements > 1 for t in scores.factors):
        return "the factors of heads that are parts of the channels are computed"
    region = [*scores.ops, second]
    whole = v.heads.depth % lanes == 0 or heads == 1
    joined = _joined_result(graph, second, batch, heads) if whole else []
    region += joined
    masked = bool(scores.masks)
    reason = unsuited(q.heads, k.heads, v.heads, bool(joined), masked, target)
    reason = reason or _turned(q, k, v) or used_elsewhere(graph, region, region[-1])
    if reason is not None:
        return reason
    scale = scores.scale * q.factor * k.factor
    return Attention(batch, heads, q, k, v, scores, scale, tuple(region), bool(joined))


def _turned(q: Operand, k: Operand, v: Operand) -> str | None:
    """Why keys or values that lie in columns, as in some caches, are left to products of matrices.

    Attention reads them in rows. Their copy is written and read, and each of the scores of a matrix
    that it spares is written and read twice.
    """
    scores = q.heads.rows * q.heads.count // k.heads.count
    for name, each in (("keys", k), ("values", v)):
        if each.turned and not each.tensor.constant and each.heads.depth > 2 * scores:
            return f"the {name} would be copied in rows, which are more than the scores"
    return None


def _joined_result(graph: Graph, second: Op, batch: int, heads: int) -> list[Op]:
    """The operators that move the heads of the result into its channels, if there are any."""
    width = second.output.shape[-1]
    places = np.arange(second.output.elements).reshape(batch, heads, -1, width)
    joined = places.swapaxes(1, 2).reshape(-1)
    ops = []
    for op, found in followers(graph, second.output):
        ops.append(op)
        if np.array_equal(found.reshape(-1), joined):
            return ops
    return []


def _build(here: Decomposition, found: Attention) -> Tensor:
    operands = [part_of(here, each, found.batch) for each in (found.q, found.k, found.v)]
    operands[0] = _times_factors(here, found, operands[0])
    if found.scores.masks:
        operands.append(sum_of_masks(here, found.scores.masks))
    attended = here.add(
        NAME,
        *operands,
        scale=found.scale,
        heads=found.heads,
        key_heads=found.k.heads.count,
        joined=found.joined,
    )
    return here.reshape(attended, found.region[-1].output.shape)


def _times_factors(here: Decomposition, found: Attention, queries: Tensor) -> Tensor:
    """The queries times the factors of their heads."""
    heads = found.q.heads
    for each in found.scores.factors:
        factor = here.reshape(each, four_axes(each.shape))
        if factor.data is not None and not heads.outer:
            batch = len(factor.data)
            by_head = np.broadcast_to(factor.data[:, :, 0], (batch, heads.count, heads.depth))
            factor = here.constant(by_head.reshape(batch, 1, -1))
        elif not heads.outer:
            factor = here.reshape(each, (1, 1, 1))
        queries = here.add("MUL", queries, factor)
    return queries
