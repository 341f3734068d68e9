"""Attention as converters spell it out."""

from collections.abc import Callable, Iterator

import numpy as np
from graphs import Value, call, ints, known, number, reshape, transpose, w, x

from .case import Case
from .rotations import angles, of_wholes, tables


def attention(q: Value, k: Value, v: Value, *masks: Value, scale: float = 0.5) -> Value:
    """softmax(scale q k' + masks) v of matrices [batch, heads, rows, channels]."""
    scores = call("MUL", call("BATCH_MATMUL", q, k, adj_x=False, adj_y=True), number(scale))
    for mask in masks:
        scores = call("ADD", scores, mask)
    powers = call("SOFTMAX", scores, beta=1.0)
    return call("BATCH_MATMUL", powers, v, adj_x=False, adj_y=False)


def in_front(rows: Value, batch: int, count: int, heads: int, depth: int) -> Value:
    """Heads in the channels, as projections compute them, as an axis before the rows."""
    return transpose(reshape(rows, batch, count, heads, depth), 0, 2, 1, 3)


def joined(value: Value, batch: int, count: int, channels: int) -> Value:
    """The heads of a result back in its channels."""
    return reshape(transpose(value, 0, 2, 1, 3), batch, count, channels)


def hidden(
    q: Value, k: Value, v: Value, condition: Value, fill: float = -np.inf, kept: bool = False
) -> Value:
    """Attention whose scores are replaced where a condition holds, or, if `kept`, where not."""
    scores = call("MUL", call("BATCH_MATMUL", q, k, adj_x=False, adj_y=True), number(0.5))
    choices = (scores, number(fill)) if kept else (number(fill), scores)
    powers = call("SOFTMAX", call("SELECT_V2", condition, *choices), beta=1.0)
    return call("BATCH_MATMUL", powers, v, adj_x=False, adj_y=False)


def causal(queries: int, keys: int) -> Value:
    """A mask under which each query sees the keys up to its own place."""
    seen = np.tri(queries, keys, keys - queries, dtype=bool)
    return known(np.where(seen, 0, -np.inf).astype(np.float32))


def from_one_projection(keys: int) -> Value:
    """Queries, keys and values that are parts of the channels of one tensor."""
    rows = call("TANH", x(2, keys, 144))
    parts = [call("SLICE", rows, ints(0, 0, start), ints(2, keys, 48)) for start in (0, 48, 96)]
    q, k, v = (in_front(part, 2, keys, 3, 16) for part in parts)
    return joined(attention(q, k, v), 2, keys, 48)


def three_projections(
    heads: int = 3,
    depth: int = 16,
    inputs: int = 1,
    then: Callable[[Value], Value] = lambda layer: layer,
) -> Value:
    """Queries, keys and values that three layers compute of as many inputs, one without a bias;
    `then` is applied to the result of each."""
    channels = heads * depth
    rows = [x(2, 19, 37) for _ in range(inputs)]
    layers = [
        call("FULLY_CONNECTED", rows[n % inputs], w(channels, 37), *bias, keep_num_dims=True)
        for n, bias in enumerate(((w(channels),), (), (w(channels),)))
    ]
    value = attention(*(in_front(then(layer), 2, 19, heads, depth) for layer in layers))
    return joined(value, 2, 19, channels)


def shared_heads(queries: int = 19, *masks: Value) -> Value:
    """Four heads of queries that share two heads of keys and values."""
    q = in_front(x(2, queries, 64), 2, queries, 4, 16)
    kept = [reshape(in_front(x(2, 23, 32), 2, 23, 2, 16), 2, 2, 1, 23, 16) for _ in "kv"]
    repeated = [call("BROADCAST_TO", each, ints(2, 2, 2, 23, 16)) for each in kept]
    k, v = (reshape(each, 2, 4, 23, 16) for each in repeated)
    return joined(attention(q, k, v, *masks), 2, queries, 64)


def shared_queries(queries: int, count: int) -> Value:
    """Four heads of keys and values of which several have the same queries."""
    kept = x(2, count, 1, queries, 16)
    repeated = call("BROADCAST_TO", kept, ints(2, count, 4 // count, queries, 16))
    k, v = (in_front(x(2, 23, 64), 2, 23, 4, 16) for _ in "kv")
    return attention(reshape(repeated, 2, 4, queries, 16), k, v)


def turned_projections(alike: bool = True) -> Value:
    """Projections of the same rows whose queries and keys are turned, by the same angles if
    `alike`; four heads share two."""
    rows = x(1, 11, 37)
    counts = (4, 2, 2)
    layers = [call("FULLY_CONNECTED", rows, w(32 * n, 37), keep_num_dims=True) for n in counts]
    q, k, v = (in_front(layer, 1, 11, n, 32) for layer, n in zip(layers, counts, strict=True))
    q = of_wholes(q, *tables(11, 32), 1, 4, 11, 32)
    k = of_wholes(k, *(tables(11, 32) if alike else angles(1, 1, 11, 32)), 1, 2, 11, 32)
    parts = [reshape(each, 1, 2, 1, 11, 32) for each in (k, v)]
    repeated = [call("BROADCAST_TO", each, ints(1, 2, 2, 11, 32)) for each in parts]
    k, v = (reshape(each, 1, 4, 11, 32) for each in repeated)
    return joined(attention(q, k, v), 1, 11, 128)


def batches_of_heads() -> Value:
    """Two heads of keys and values that four heads share, as matrices of products of three axes."""
    q = reshape(in_front(x(1, 19, 64), 1, 19, 4, 16), 4, 19, 16)
    k, v = (
        reshape(call("BROADCAST_TO", x(1, 2, 1, 23, 16), ints(1, 2, 2, 23, 16)), 4, 23, 16)
        for _ in "kv"
    )
    result = attention(q, k, v, causal(19, 23))
    return joined(reshape(result, 1, 4, 19, 16), 1, 19, 64)


def with_factors(q: Value, k: Value, v: Value, *masks: Value) -> Value:
    """Scores of three heads, each multiplied by a factor of its own before masks are added."""
    factors = known(np.array([0.5, 0.25, 0.75], np.float32).reshape(1, 3, 1, 1))
    scores = call("MUL", call("BATCH_MATMUL", q, k, adj_x=False, adj_y=True), factors)
    for mask in masks:
        scores = call("ADD", scores, mask)
    powers = call("SOFTMAX", scores, beta=1.0)
    return call("BATCH_MATMUL", powers, v, adj_x=False, adj_y=False)


def factors_in_the_channels() -> Value:
    q, k, v = (in_front(x(2, 19, 48), 2, 19, 3, 16) for _ in "qkv")
    return joined(with_factors(q, k, v), 2, 19, 48)


def heads_as_rows() -> Value:
    """Four heads of queries, whose rows follow each other, with two heads of keys and values."""
    q = call("MUL", reshape(x(2, 4, 19, 16), 2, 2, 38, 16), number(0.5))
    product = call("BATCH_MATMUL", q, x(2, 2, 23, 16), adj_x=False, adj_y=True)
    scores = call("ADD", reshape(product, 2, 4, 19, 23), x(2, 1, 19, 23))
    powers = call("SOFTMAX", reshape(scores, 2, 2, 38, 23), beta=1.0)
    turned = x(2, 2, 7, 23)
    result = call("BATCH_MATMUL", powers, turned, adj_x=False, adj_y=True)
    return reshape(result, 2, 4, 19, 7)


def in_windows() -> Value:
    """Two heads of six windows, with a bias for each head and, in five axes, for each window."""
    scores = call("BATCH_MATMUL", x(6, 2, 9, 16), x(6, 2, 9, 16), adj_x=False, adj_y=True)
    biased = call("ADD", scores, x(1, 2, 9, 9))
    masked = call("ADD", reshape(biased, 1, 6, 2, 9, 9), x(1, 6, 1, 9, 9))
    powers = call("SOFTMAX", reshape(masked, 6, 2, 9, 9), beta=1.0)
    return call("BATCH_MATMUL", powers, x(6, 2, 9, 16), adj_x=False, adj_y=False)


def attentions() -> Iterator[Case]:
    odd = x(2, 3, 19, 7), x(2, 3, 37, 7), x(2, 3, 37, 11)
    yield Case("recognized", "attention of odd heads", call("RELU", attention(*odd)))
    whole = attention(x(1, 2, 32, 16), x(1, 2, 48, 16), x(1, 2, 48, 16))
    yield Case("recognized", "attention of whole slices", whole)
    nothing = np.zeros((32, 48), np.float32)
    nothing[::7] = -np.inf
    none_left = attention(x(1, 2, 32, 16), x(1, 2, 48, 16), x(1, 2, 48, 16), known(nothing))
    yield Case("recognized", "attention to nothing", none_left, kernels="XNNPACK")
    rows = reshape(attention(x(1, 2, 64, 32), x(1, 2, 64, 32), x(1, 2, 64, 32)), 2, 64 * 32)
    yield Case("recognized", "attention stored in rows", rows)
    masks = causal(19, 37), x(2, 1, 1, 37)
    yield Case("recognized", "attention with masks", attention(*odd, *masks))
    later = known(~np.tri(19, 37, 18, dtype=bool))
    yield Case("recognized", "attention with hidden scores", hidden(*odd, later))
    padding = call("GREATER", x(2, 1, 1, 37), number(0.3))
    value = hidden(*odd, padding, -1e9, kept=True)
    yield Case("recognized", "attention with scores kept where a computed condition holds", value)
    bias = attention(x(3, 19, 7), x(3, 5, 7), x(3, 5, 11), x(3, 19, 5))
    yield Case("recognized", "attention with a bias and few keys", bias)
    yield Case("recognized", "attention from one projection", from_one_projection(67))
    yield Case("recognized", "attention of three projections", three_projections())
    by_rows = three_projections(then=lambda layer: call("MUL", layer, w(19, 1)))
    yield Case("recognized", "attention of projections with factors of rows", by_rows)
    yield Case("recognized", "attention of turned projections", turned_projections())
    yield Case("recognized", "attention with shared heads", shared_heads())
    query = x(2, 3, 1, 16), x(2, 3, 300, 16), x(2, 3, 300, 32)
    yield Case("recognized", "attention of a query", attention(*query, x(2, 1, 1, 300)))
    four = attention(x(2, 3, 4, 16), x(2, 3, 300, 16), x(2, 3, 300, 32))
    activated = call("HARD_SWISH", joined(four, 2, 4, 96))
    yield Case("recognized", "attention of four queries and an activation", activated)
    yield Case("recognized", "attention of a query with shared heads", shared_heads(1))
    few = shared_heads(3, causal(3, 23), x(1, 4, 3, 1))
    yield Case("recognized", "attention of three queries with shared heads", few)
    for queries, count in ((3, 1), (19, 1), (19, 2)):
        value = shared_queries(queries, count)
        yield Case("recognized", f"attention whose heads share {count} of {queries} queries", value)
    yield Case("recognized", "attention with heads as batches", batches_of_heads())
    factors = with_factors(*odd, causal(19, 37), x(2, 1, 1, 37))
    yield Case("recognized", "attention with factors", factors)
    yield Case("recognized", "attention with factors in the channels", factors_in_the_channels())
    yield Case("recognized", "attention with heads as rows", heads_as_rows())
    yield Case("recognized", "attention in windows", in_windows())
    one = call("FULLY_CONNECTED", x(2, 19, 37), w(16, 37), keep_num_dims=True)
    yield Case("recognized", "attention of keys alone", attention(x(2, 7, 16), one, one))
    yield Case("recognized", "attention of one tensor", attention(one, one, one))


TABLES = (attentions,)
