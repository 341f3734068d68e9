"""Operators that move elements: slices, repetitions, permutations, reshapes and casts."""

from typing import Any

import numpy as np
from graphs import Value, call, ints, known, parts, typed
from hypothesis.strategies import DrawFn

from tflgpu.compiler.ir import Shape

from .draws import (
    MOST,
    RANKS,
    SLICED,
    Generator,
    axis,
    data,
    flag,
    given,
    number,
    one_in,
    part,
    pick,
    scalar,
    shape,
    table,
)

ANY = ("float32", "float32", "int32", "int64", "bool")


def _moved(draw: DrawFn, ranks: Any = RANKS, most: int = MOST) -> tuple[str, Shape, Value]:
    """A type, a shape, and a value of both."""
    dtype = pick(draw, ANY)
    sizes = shape(draw, ranks, most)
    return dtype, sizes, given(draw, sizes, dtype)


def _pads(draw: DrawFn, sizes: Shape, most: int = 3) -> Value:
    rows = [[number(draw, 0, most), number(draw, 0, most)] if flag(draw) else [0, 0] for _ in sizes]
    return table(rows) if flag(draw) else known(np.array(rows, np.int64))


def pad(draw: DrawFn) -> Value:
    sizes = shape(draw, (1, 2, 3, 4, 5), 400)
    dtype = pick(draw, ("float32", "int32", "int64"))
    return typed(dtype, "PAD", given(draw, sizes, dtype), _pads(draw, sizes))


def pad_with(draw: DrawFn) -> Value:
    sizes = shape(draw, (1, 2, 3, 4, 5), 400)
    dtype = pick(draw, ("float32", "int32", "int64"))
    value = scalar(pick(draw, (-2.5, 0, 7)), dtype)
    return typed(dtype, "PADV2", given(draw, sizes, dtype), _pads(draw, sizes), value)


def mirror_pad(draw: DrawFn) -> Value:
    mode = pick(draw, ("REFLECT", "SYMMETRIC"))
    dtype = pick(draw, ("float32", "int32", "int64"))
    sizes = shape(draw, (1, 2, 3, 4, 5), 300)
    most = [min(size - (mode == "REFLECT"), 5) for size in sizes]
    rows = [[number(draw, 0, n), number(draw, 0, n)] if flag(draw) else [0, 0] for n in most]
    return typed(dtype, "MIRROR_PAD", given(draw, sizes, dtype), table(rows), mode=mode)


def slices(draw: DrawFn) -> Value:
    dtype, sizes, value = _moved(draw, (1, 2, 3, 4, 5))
    begins = [number(draw, 0, n - 1) if flag(draw) else 0 for n in sizes]
    counts = [
        -1 if flag(draw) else number(draw, 1, n - begin)
        for n, begin in zip(sizes, begins, strict=True)
    ]
    return typed(dtype, "SLICE", value, ints(*begins), ints(*counts))


def strided_slice(draw: DrawFn) -> Value:
    """Ranges that are not empty, forwards and backwards, with every mask."""
    dtype, sizes, value = _moved(draw, (1, 2, 3, 4, 5))
    names = ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    masks = {f"{name}_mask": 0 for name in names}
    entries: list[tuple[int, int, int]] = []

    def mark(name: str, entry: tuple[int, int, int] = (0, 0, 1)) -> None:
        masks[f"{name}_mask"] |= 1 << len(entries)
        entries.append(entry)

    left = list(sizes[: number(draw, 1, len(sizes))])
    while left:
        if one_in(draw, 12):
            mark("new_axis")
        if one_in(draw, 12) and not masks["ellipsis_mask"]:
            mark("ellipsis")
            taken = number(draw, 1, len(left))
            left = list(sizes[len(sizes) - len(left) + taken :])
            continue
        size = left.pop(0)
        low = number(draw, 0, size - 1)
        if one_in(draw, 6):
            mark("shrink_axis", (low - size if flag(draw) else low, low + 1, 1))
        else:
            entries.append(_range(draw, size, low, masks, len(entries)))
    edges = [ints(*column) for column in zip(*entries, strict=True)]
    return typed(dtype, "STRIDED_SLICE", value, *edges, **masks)


def _range(
    draw: DrawFn, size: int, low: int, masks: dict[str, int], place: int
) -> tuple[int, int, int]:
    """Begin, end and stride of a range that starts at the entry `low` of an axis, or ends there."""
    high = number(draw, low + 1, size)
    step = pick(draw, (1, 1, 1, 2, 3, -1, -2))
    begin, end = (low, high) if step > 0 else (high - 1, low - 1)
    masks["begin_mask"] |= one_in(draw, 6) << place
    masks["end_mask"] |= (one_in(draw, 6) or end < 0) << place
    if end == size and one_in(draw, 4):
        end += 2
    return begin - size if flag(draw) else begin, end, step


def split(draw: DrawFn) -> list[Value]:
    sizes = list(shape(draw, SLICED, MOST // 5))
    position, count = axis(draw, len(sizes)), pick(draw, (1, 2, 3, 5))
    sizes[position] *= count
    value = parts("SPLIT", count, ints(position), given(draw, tuple(sizes)), num_splits=count)
    return list(value)


def split_into(draw: DrawFn) -> list[Value]:
    sizes = list(shape(draw, (1, 2, 3, 4, 5), MOST // 5))
    position = axis(draw, len(sizes))
    counts = [number(draw, 1, 17) for _ in range(number(draw, 1, 4))]
    sizes[position] = sum(counts)
    if one_in(draw, 4):
        counts[0] = -1
    operands = given(draw, tuple(sizes)), ints(*counts), ints(position)
    return list(parts("SPLIT_V", len(counts), *operands, num_splits=len(counts)))


def concatenation(draw: DrawFn) -> Value:
    sizes, dtype = shape(draw, (1, 2, 3, 4, 5), MOST // 5), pick(draw, ANY)
    position = axis(draw, len(sizes))
    operands = []
    for _ in range(number(draw, 1, 5)):
        own = list(sizes)
        own[position] = number(draw, 1, 19)
        operands.append(data(draw, tuple(own), dtype, often=5))
    if one_in(draw, 6):
        operands.append(operands[0])
    operands.append(given(draw, sizes, dtype))
    return typed(dtype, "CONCATENATION", *operands, axis=position)


def pack(draw: DrawFn) -> Value:
    sizes, dtype = shape(draw, (1, 2, 3, 4), MOST // 5), pick(draw, ANY)
    operands = [data(draw, sizes, dtype) for _ in range(number(draw, 0, 4))]
    operands.append(given(draw, sizes, dtype))
    attrs = {"values_count": len(operands), "axis": axis(draw, len(sizes) + 1)}
    return typed(dtype, "PACK", *operands, **attrs)


def unpack(draw: DrawFn) -> list[Value]:
    sizes = list(shape(draw, (1, 2, 3, 4, 5)))
    position, count = axis(draw, len(sizes)), number(draw, 1, 5)
    sizes[position] = count
    return list(parts("UNPACK", count, given(draw, tuple(sizes)), num=count, axis=position))


def transpose(draw: DrawFn) -> Value:
    dtype, sizes, value = _moved(draw)
    left, order = list(range(len(sizes))), []
    while left:
        order.append(left.pop(number(draw, 0, len(left) - 1)))
    return typed(dtype, "TRANSPOSE", value, ints(*order))


def tile(draw: DrawFn) -> Value:
    dtype, sizes, value = _moved(draw, (1, 2, 3, 4, 5), 200)
    times = [pick(draw, (1, 1, 2, 3)) for _ in sizes]
    return typed(dtype, "TILE", value, ints(*times))


def broadcast_to(draw: DrawFn) -> Value:
    whole, dtype = shape(draw), pick(draw, ANY)
    value = given(draw, part(draw, whole), dtype)
    return typed(dtype, "BROADCAST_TO", value, ints(*whole))


def reverse(draw: DrawFn) -> Value:
    """LiteRT reverses only neighbouring axes."""
    dtype, sizes, value = _moved(draw)
    first = number(draw, 0, len(sizes) - 1)
    axes = range(first, min(first + pick(draw, (1, 1, 2)), len(sizes)))
    return typed(dtype, "REVERSE_V2", value, ints(*axes))


def reshape(draw: DrawFn) -> Value:
    """Neighbouring axes are joined, axes are split in two, and axes of size 1 are added."""
    dtype, sizes, value = _moved(draw)
    wanted = list(sizes)
    for _ in range(number(draw, 1, 3)):
        place = number(draw, 0, len(wanted) - 1)
        divisors = [n for n in (2, 3, 4, 8) if wanted[place] % n == 0]
        if place + 1 < len(wanted) and flag(draw):
            wanted[place : place + 2] = [wanted[place] * wanted[place + 1]]
        elif divisors and len(wanted) < 6:
            divisor = pick(draw, divisors)
            wanted[place : place + 1] = [wanted[place] // divisor, divisor]
        elif len(wanted) < 6:
            wanted.insert(place, 1)
    if one_in(draw, 3):
        wanted[number(draw, 0, len(wanted) - 1)] = -1
    if one_in(draw, 3):
        return typed(dtype, "RESHAPE", value, new_shape=tuple(wanted))
    return typed(dtype, "RESHAPE", value, ints(*wanted))


def squeeze(draw: DrawFn) -> Value:
    dtype = pick(draw, ANY)
    sizes = [1 if one_in(draw, 3) else n for n in shape(draw)]
    ones = [position for position, n in enumerate(sizes) if n == 1]
    axes = [n - len(sizes) if flag(draw) else n for n in ones if flag(draw)]
    return typed(dtype, "SQUEEZE", given(draw, tuple(sizes), dtype), squeeze_dims=tuple(axes))


def expand_dims(draw: DrawFn) -> Value:
    dtype, sizes, value = _moved(draw, (1, 2, 3, 4, 5))
    return typed(dtype, "EXPAND_DIMS", value, ints(axis(draw, len(sizes) + 1)))


_FITTING = {"uint8": "counts", "bool": "truth"}


def cast(draw: DrawFn) -> Value:
    """Values that fit into the type, as the results of others are undefined."""
    kinds = ("float32", "int32", "int64", "bool", "int8", "uint8", "int16")
    source, target = pick(draw, kinds), pick(draw, kinds)
    kind = _FITTING.get(target if source != "bool" else source, "small")
    kind = "counts" if source == "uint8" else kind
    value = given(draw, shape(draw), source, kind)
    return typed(target, "CAST", value, in_data_type=source, out_data_type=target)


def bitcast(draw: DrawFn) -> Value:
    sizes = shape(draw)
    if flag(draw):
        return typed("int32", "BITCAST", given(draw, sizes))
    return call("BITCAST", given(draw, sizes, "int32", "large"))


def update(draw: DrawFn) -> Value:
    """The start may be one at which the part does not fit."""
    dtype, sizes, value = _moved(draw, (1, 2, 3, 4))
    inner = tuple(number(draw, 1, n) for n in sizes)
    starts = ints(*(number(draw, -2, n + 1) for n in sizes))
    if flag(draw):
        starts = typed("int32", "ADD", given(draw, (len(sizes),), "int32", "places"), starts)  # type: ignore[assignment]
    return typed(dtype, "DYNAMIC_UPDATE_SLICE", value, data(draw, inner, dtype), starts)


def diagonal(draw: DrawFn) -> Value:
    """Without truth values, which LiteRT takes for floats."""
    dtype, sizes = pick(draw, ANY[:-1]), shape(draw, (1, 2, 3), 200)
    return typed(dtype, "MATRIX_DIAG", given(draw, sizes, dtype))


def set_diagonal(draw: DrawFn) -> Value:
    """Without truth values, which LiteRT takes for floats."""
    dtype, sizes = pick(draw, ANY[:-1]), shape(draw, (2, 3, 4))
    vector = data(draw, (*sizes[:-2], min(sizes[-2:])), dtype)
    return typed(dtype, "MATRIX_SET_DIAG", given(draw, sizes, dtype), vector)


def reverse_sequence(draw: DrawFn) -> Value:
    """Lengths are constants, or computed and 0 or 1."""
    dtype, sizes = pick(draw, ("float32", "int32", "int64")), shape(draw, (2, 3, 4))
    steps, batch = number(draw, 0, len(sizes) - 1), number(draw, 0, len(sizes) - 1)
    batch = batch if batch != steps else (steps + 1) % len(sizes)
    lengths = given(draw, (sizes[batch],), "int32", "places")
    if flag(draw):
        lengths = ints(*(number(draw, 0, sizes[steps]) for _ in range(sizes[batch])))  # type: ignore[assignment]
    attrs = {"seq_dim": steps, "batch_dim": batch}
    return typed(dtype, "REVERSE_SEQUENCE", given(draw, sizes, dtype), lengths, **attrs)


def dilate(draw: DrawFn) -> Value:
    dtype, sizes, value = _moved(draw, (1, 2, 3, 4), 200)
    steps = [pick(draw, (1, 1, 2, 3)) for _ in sizes]
    fill = scalar(pick(draw, (0, 1)), dtype)
    return typed(dtype, "DILATE", value, ints(*steps), fill)


def stablehlo_pad(draw: DrawFn) -> Value:
    """Elements are cropped only where some are left."""
    dtype, sizes, value = _moved(draw, (1, 2, 3, 4), 200)
    rows = [
        (pick(draw, (0, 1, 2)), number(draw, 1 - n if n > 2 else 0, 3), number(draw, 0, 2))
        for n in sizes
    ]
    names = ("interior_padding", "edge_padding_low", "edge_padding_high")
    attrs = dict(zip(names, zip(*rows, strict=True), strict=True))
    return typed(dtype, "STABLEHLO_PAD", value, scalar(1, dtype), **attrs)


GENERATORS: dict[str, Generator] = {
    "BITCAST": bitcast,
    "BROADCAST_TO": broadcast_to,
    "CAST": cast,
    "CONCATENATION": concatenation,
    "DYNAMIC_UPDATE_SLICE": update,
    "DILATE": dilate,
    "EXPAND_DIMS": expand_dims,
    "MATRIX_DIAG": diagonal,
    "MATRIX_SET_DIAG": set_diagonal,
    "MIRROR_PAD": mirror_pad,
    "PACK": pack,
    "PAD": pad,
    "PADV2": pad_with,
    "RESHAPE": reshape,
    "REVERSE_SEQUENCE": reverse_sequence,
    "REVERSE_V2": reverse,
    "SLICE": slices,
    "SPLIT": split,
    "SPLIT_V": split_into,
    "SQUEEZE": squeeze,
    "STABLEHLO_PAD": stablehlo_pad,
    "STRIDED_SLICE": strided_slice,
    "TILE": tile,
    "TRANSPOSE": transpose,
    "UNPACK": unpack,
}
