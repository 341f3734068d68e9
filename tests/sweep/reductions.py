"""Operators that combine many elements: reductions, norms, searches and products."""

from collections.abc import Sequence

import numpy as np
from graphs import Call, Part, Value, call, ints, known, typed
from hypothesis.strategies import DrawFn

from .draws import (
    CHANNELS,
    Generator,
    axis,
    constant,
    data,
    flag,
    given,
    image,
    number,
    one_in,
    part,
    pick,
    scalar,
    shape,
)

LOWER = (1, 2, 3, 4, 5)

_DTYPES = {"REDUCE_ALL": ("bool",), "REDUCE_ANY": ("bool",)}
_KINDS = {("REDUCE_PROD", "float32"): "away from zero", ("REDUCE_PROD", "int32"): "counts"}
# Most elements, so that products fit into 32 bits and truth values differ.
_MOST = {"REDUCE_PROD": 9, "REDUCE_ALL": 60, "REDUCE_ANY": 60}


def _reduction(operator: str) -> Generator:
    def generate(draw: DrawFn) -> Value:
        dtype = pick(draw, _DTYPES.get(operator, ("float32", "float32", "int32", "int64")))
        sizes = shape(draw, LOWER, _MOST.get(operator, 3000))
        named = {axis(draw, len(sizes)) for _ in range(number(draw, 1, len(sizes)))}
        axes = scalar(min(named)) if len(named) == 1 and flag(draw) else ints(*sorted(named))
        kind = _KINDS.get((operator, "int32" if dtype == "int64" else dtype))
        value = given(draw, sizes, dtype, kind)
        return typed(dtype, operator, value, axes, keep_dims=flag(draw))

    return generate


def softmax(draw: DrawFn) -> Value:
    value = given(draw, shape(draw, (1, 2, 3, 4)), kind=pick(draw, ("normal", "wide", "deep")))
    return call("SOFTMAX", value, beta=pick(draw, (1.0, 1.0, 0.25, 3.0)))


def log_softmax(draw: DrawFn) -> Value:
    value = given(draw, shape(draw, (1, 2, 3, 4)), kind=pick(draw, ("normal", "wide")))
    return call("LOG_SOFTMAX", value)


def l2_normalization(draw: DrawFn) -> Value:
    return call("L2_NORMALIZATION", given(draw, shape(draw, (1, 2, 3, 4))))


def response_normalization(draw: DrawFn) -> Value:
    attrs = {
        "radius": number(draw, 0, 5),
        "bias": pick(draw, (1.0, 1.3, 2.0)),
        "alpha": pick(draw, (1.0, 0.7, 1e-4)),
        "beta": pick(draw, (0.5, 0.75, 1.0)),
    }
    return call("LOCAL_RESPONSE_NORMALIZATION", given(draw, image(draw)), **attrs)


def _search(operator: str) -> Generator:
    def generate(draw: DrawFn) -> Value:
        dtype, result = pick(draw, ("float32", "int32")), pick(draw, ("int32", "int64"))
        sizes = shape(draw, LOWER)
        value = given(draw, sizes, dtype, "with ties" if dtype == "float32" else "small")
        position = scalar(axis(draw, len(sizes)))
        return typed(result, operator, value, position, output_type=result)

    return generate


def top(draw: DrawFn) -> list[Value]:
    dtype, sizes = pick(draw, ("float32", "int32", "int64")), shape(draw, (1, 2, 3, 4))
    value = given(draw, sizes, dtype, "with ties" if dtype == "float32" else "small")
    count = scalar(number(draw, 1, sizes[-1]))
    whole = Call("TOPK_V2", (value, count), outputs=2, dtypes=(dtype, "int32"))
    return [Part(whole, 0), Part(whole, 1)]


def cumulative_sum(draw: DrawFn) -> Value:
    dtype, sizes = pick(draw, ("float32", "int32", "int64")), shape(draw, LOWER)
    attrs = {"exclusive": flag(draw), "reverse": flag(draw)}
    value = given(draw, sizes, dtype)
    return typed(dtype, "CUMSUM", value, scalar(axis(draw, len(sizes))), **attrs)


def matrices(draw: DrawFn) -> Value:
    """Products whose batches broadcast, of matrices that are transposed or not."""
    rows, inner, columns = (pick(draw, CHANNELS) for _ in range(3))
    batch = shape(draw, (1, 2, 3), 6) if flag(draw) else ()
    batches = [part(draw, batch) if one_in(draw, 3) else batch for _ in range(2)]
    transposed = flag(draw), flag(draw)
    first = (*batches[0], *((inner, rows) if transposed[0] else (rows, inner)))
    second = (*batches[1], *((columns, inner) if transposed[1] else (inner, columns)))
    operands: list[Value] = [given(draw, first), data(draw, second)]
    if one_in(draw, 4):
        operands[0] = constant(draw, first)
        operands[1] = given(draw, second)
    return call("BATCH_MATMUL", *operands, adj_x=transposed[0], adj_y=transposed[1])


_PARTS = ("COMPLEX_ABS", "IMAG", "REAL")


def _transform(parts: Sequence[str]) -> Generator:
    """Parts of the spectra of images, which are cropped or padded with zeros to powers of two."""

    def generate(draw: DrawFn) -> list[Value]:
        sizes = shape(draw, (2, 3, 4))
        lengths = ints(pick(draw, (1, 2, 4, 8)), pick(draw, (2, 4, 16, 32)))
        spectrum = typed("complex64", "RFFT2D", given(draw, sizes), lengths)
        return [call(part, spectrum) for part in parts]

    return generate


def windows(draw: DrawFn) -> Value:
    functions = {"ADD": 0.0, "MUL": 1.0, "MINIMUM": 0.5, "MAXIMUM": -0.5, "ALL": 1, "ANY": 0}
    function = pick(draw, tuple(functions))
    dtype = "bool" if function in ("ALL", "ANY") else pick(draw, ("float32", "int32"))
    sizes = shape(draw, (1, 2, 3, 4), 500)
    window = [number(draw, 1, min(n, 4)) for n in sizes]
    dilations = [
        2 if 2 * size - 1 <= n and flag(draw) else 1 for n, size in zip(sizes, window, strict=True)
    ]
    columns = window, [number(draw, 1, 3) for _ in sizes], dilations
    tables = [known(np.array(column, np.int64)) for column in columns]
    operands = given(draw, sizes, dtype), scalar(functions[function], dtype), *tables
    return typed(dtype, "REDUCE_WINDOW", *operands, reduce_function=function)


_REDUCTIONS = ("MEAN", "REDUCE_ALL", "REDUCE_ANY", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "SUM")

GENERATORS: dict[str, Generator] = {
    **{operator: _reduction(operator) for operator in _REDUCTIONS},
    **{operator: _search(operator) for operator in ("ARG_MAX", "ARG_MIN")},
    **{operator: _transform([operator]) for operator in _PARTS},
    "BATCH_MATMUL": matrices,
    "CUMSUM": cumulative_sum,
    "L2_NORMALIZATION": l2_normalization,
    "LOCAL_RESPONSE_NORMALIZATION": response_normalization,
    "LOG_SOFTMAX": log_softmax,
    "REDUCE_WINDOW": windows,
    "RFFT2D": _transform(_PARTS),
    "SOFTMAX": softmax,
    "TOPK_V2": top,
}
