"""Operators that take indices as values, and operators that find boxes."""

import numpy as np
from graphs import Call, Part, Value, call, detected, ints, known, typed, w, x
from hypothesis.strategies import DrawFn

from tflgpu.compiler.ir import Shape

from .draws import Generator, data, flag, given, number, one_in, pick, scalar, shape

WIDTHS = ("int32", "int64")
ANY = ("float32", "float32", "int32", "int64", "bool")


def _indices(draw: DrawFn, sizes: Shape, least: int, dtype: str) -> Value:
    """Constants over the whole axis; or computed indices, which are 0 or 1."""
    if least > 1 and flag(draw):
        return given(draw, sizes, dtype, "places")
    random = np.random.default_rng(number(draw, 0, 999))
    return known(random.integers(0, least, sizes).astype(dtype))


def gather(draw: DrawFn) -> Value:
    dtype, width = pick(draw, ANY), pick(draw, WIDTHS)
    source = shape(draw, (1, 2, 3, 4), 500)
    position = number(draw, 0, len(source) - 1)
    batches = number(draw, 0, position) if one_in(draw, 3) else 0
    sizes = (*source[:batches], *pick(draw, ((), (5,), (2, 3))))
    indices = _indices(draw, sizes, source[position], width)
    value = data(draw, source, dtype) if isinstance(indices, Call) else given(draw, source, dtype)
    signed = position - len(source) if not batches and flag(draw) else position
    return typed(dtype, "GATHER", value, indices, axis=signed, batch_dims=batches)


def gather_nd(draw: DrawFn) -> Value:
    dtype, width = pick(draw, ANY), pick(draw, WIDTHS)
    source = shape(draw, (1, 2, 3, 4), 500)
    depth = number(draw, 1, len(source))
    sizes = (*pick(draw, ((5,), (2, 3), ())), depth)
    indices = _indices(draw, sizes, min(source[:depth]), width)
    return typed(dtype, "GATHER_ND", given(draw, source, dtype), indices)


def scatter_nd(draw: DrawFn) -> Value:
    dtype = pick(draw, ("float32", "int32", "int64"))
    extents = shape(draw, (1, 2, 3, 4), 500)
    depth = number(draw, 1, len(extents))
    outer = pick(draw, ((5,), (2, 3)))
    indices = _indices(draw, (*outer, depth), min(extents[:depth]), "int32")
    updates = given(draw, (*outer, *extents[depth:]), dtype)
    return typed(dtype, "SCATTER_ND", indices, updates, ints(*extents))


def sparse_to_dense(draw: DrawFn) -> Value:
    """Several values, or one for all places."""
    dtype = pick(draw, ("float32", "int32", "int64"))
    extents = shape(draw, (1, 2, 3, 4), 500)
    count = number(draw, 1, 7)
    random = np.random.default_rng(number(draw, 0, 999))
    places = np.stack([random.integers(0, size, count) for size in extents], -1).astype(np.int32)
    indices = known(places[:, 0] if len(extents) == 1 and flag(draw) else places)
    values = given(draw, (count,) if flag(draw) else (), dtype)
    default = scalar(number(draw, -3, 3), dtype)
    return typed(dtype, "SPARSE_TO_DENSE", indices, ints(*extents), values, default)


def _segments(operator: str) -> Generator:
    def generate(draw: DrawFn) -> Value:
        dtype, sizes = pick(draw, ("float32", "int32")), shape(draw, (1, 2, 3, 4), 500)
        random = np.random.default_rng(number(draw, 0, 999))
        count = number(draw, 1, 7)
        if operator == "SEGMENT_SUM":
            ids = np.cumsum([0, *random.integers(0, 2, sizes[0] - 1)])
            return typed(dtype, operator, given(draw, sizes, dtype), known(ids.astype(np.int32)))
        axes = sizes[: number(draw, 1, len(sizes))]
        places = known(random.integers(-1, count, axes).astype(np.int32))
        operands = given(draw, sizes, dtype, "places"), places, scalar(count)
        return typed(dtype, operator, *operands)

    return generate


def bucketize(draw: DrawFn) -> Value:
    dtype = pick(draw, ("float32", "int32", "int64"))
    edges = sorted(number(draw, -9, 9) / 2 for _ in range(number(draw, 1, 9)))
    value = given(draw, shape(draw), dtype, "with ties" if dtype == "float32" else "small")
    return typed("int32", "BUCKETIZE", value, boundaries=tuple(edges))


def one_hot(draw: DrawFn) -> Value:
    dtype, width = pick(draw, ("float32", "int32", "int64", "bool")), pick(draw, WIDTHS)
    sizes = shape(draw, (1, 2, 3, 4), 300)
    ends = scalar(pick(draw, (1, 3)), dtype), scalar(pick(draw, (0, -1)), dtype)
    indices = given(draw, sizes, width, pick(draw, ("places", "counts", "small")))
    attrs = {"axis": number(draw, -1, len(sizes))}
    return typed(dtype, "ONE_HOT", indices, scalar(number(draw, 1, 7)), *ends, **attrs)


def embedding(draw: DrawFn) -> Value:
    source = shape(draw, (2, 3, 4), 500)
    indices = _indices(draw, (number(draw, 1, 7),), source[0], "int32")
    table = w(*source) if isinstance(indices, Call) or flag(draw) else given(draw, source)
    return call("EMBEDDING_LOOKUP", indices, table)


def _boxes(draw: DrawFn, count: int) -> Value:
    random = np.random.default_rng(number(draw, 0, 999))
    corners = random.uniform(0, 1, (count, 2, 2)).astype(np.float32)
    return known(np.concatenate([corners[:, 0], corners[:, 0] + corners[:, 1]], 1))


def _suppression(version: int) -> Generator:
    def generate(draw: DrawFn) -> list[Value]:
        count = number(draw, 1, 41)
        most = scalar(number(draw, 1, count))
        limits = [scalar(pick(draw, choices), "float32") for choices in ((0.3, 0.6), (0.2, 1.5))]
        operands = [_boxes(draw, count), x(count, draw="positive"), most, *limits]
        types = ("int32", "int32")
        if version == 5:
            operands.append(scalar(pick(draw, (0.0, 0.5)), "float32"))
            types = ("int32", "float32", "int32")  # type: ignore[assignment]
        name = f"NON_MAX_SUPPRESSION_V{version}"
        value = Call(name, tuple(operands), outputs=len(types), dtypes=types)
        return [Part(value, position) for position in range(len(types))]

    return generate


def detection(draw: DrawFn) -> list[Value]:
    """LiteRT leaves the memory after the last box undefined, so only few boxes are asked for."""
    count, classes, background = number(draw, 2, 37), number(draw, 1, 7), number(draw, 0, 1)
    random = np.random.default_rng(number(draw, 0, 999))
    centres = random.uniform(0.2, 0.8, (count, 2))
    anchors = known(np.concatenate([centres, np.full((count, 2), 0.2)], 1).astype(np.float32))
    scores = x(1, count, classes + background, draw="positive")
    return detected(
        x(1, count, 4),
        scores,
        anchors,
        nms_iou_threshold=pick(draw, (0.4, 0.6)),
        nms_score_threshold=pick(draw, (0.3, 1.5)),
        max_detections=number(draw, 1, 1 + count // 8),
        num_classes=classes,
    )


_SEGMENTS = (
    *("SEGMENT_SUM", "UNSORTED_SEGMENT_MAX", "UNSORTED_SEGMENT_MIN"),
    *("UNSORTED_SEGMENT_PROD", "UNSORTED_SEGMENT_SUM"),
)

GENERATORS: dict[str, Generator] = {
    **{operator: _segments(operator) for operator in _SEGMENTS},
    "BUCKETIZE": bucketize,
    "EMBEDDING_LOOKUP": embedding,
    "GATHER": gather,
    "GATHER_ND": gather_nd,
    "NON_MAX_SUPPRESSION_V4": _suppression(4),
    "NON_MAX_SUPPRESSION_V5": _suppression(5),
    "ONE_HOT": one_hot,
    "SCATTER_ND": scatter_nd,
    "SPARSE_TO_DENSE": sparse_to_dense,
    "TFLite_Detection_PostProcess": detection,
}
