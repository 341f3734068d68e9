"""Operators that turn blocks of pixels into channels or batches, and back."""

from math import prod

from graphs import Value, call, ints, typed
from hypothesis.strategies import DrawFn

from .draws import Generator, given, image, number, one_in, pick, table


def space_to_depth(draw: DrawFn) -> Value:
    batch, rows, columns, channels = image(draw)
    size, dtype = number(draw, 1, 3), pick(draw, ("float32", "int32", "int64"))
    value = given(draw, (batch, rows * size, columns * size, channels), dtype)
    return typed(dtype, "SPACE_TO_DEPTH", value, block_size=size)


def depth_to_space(draw: DrawFn) -> Value:
    batch, rows, columns, channels = image(draw)
    size, dtype = number(draw, 1, 3), pick(draw, ("float32", "int32", "int64"))
    value = given(draw, (batch, rows, columns, channels * size * size), dtype)
    return typed(dtype, "DEPTH_TO_SPACE", value, block_size=size)


def _blocks(draw: DrawFn) -> tuple[list[int], list[list[int]]]:
    """Sizes of blocks, and the padding or crop before and after each axis."""
    sizes = [number(draw, 1, 3) for _ in range(2)]
    return sizes, [[number(draw, 0, n - 1), number(draw, 0, n - 1)] for n in sizes]


def space_to_batch(draw: DrawFn) -> Value:
    batch, rows, columns, channels = image(draw)
    blocks, pads = _blocks(draw)
    counts = [n + 2 for n in (rows, columns)]
    sizes = [n * size - sum(pad) for n, size, pad in zip(counts, blocks, pads, strict=True)]
    if one_in(draw, 4):
        operands = given(draw, (batch, sizes[0], channels)), ints(blocks[0]), table(pads[:1])
        return call("SPACE_TO_BATCH_ND", *operands)
    dtype = pick(draw, ("float32", "int32", "int64"))
    value = given(draw, (batch, *sizes, channels), dtype)
    return typed(dtype, "SPACE_TO_BATCH_ND", value, ints(*blocks), table(pads))


def batch_to_space(draw: DrawFn) -> Value:
    batch, rows, columns, channels = image(draw)
    blocks, crops = _blocks(draw)
    if one_in(draw, 4):
        value = given(draw, (batch * blocks[0], rows + 2, channels))
        return call("BATCH_TO_SPACE_ND", value, ints(blocks[0]), table(crops[:1]))
    dtype = pick(draw, ("float32", "int32", "int64"))
    value = given(draw, (batch * prod(blocks), rows + 2, columns + 2, channels), dtype)
    return typed(dtype, "BATCH_TO_SPACE_ND", value, ints(*blocks), table(crops))


GENERATORS: dict[str, Generator] = {
    "BATCH_TO_SPACE_ND": batch_to_space,
    "DEPTH_TO_SPACE": depth_to_space,
    "SPACE_TO_BATCH_ND": space_to_batch,
    "SPACE_TO_DEPTH": space_to_depth,
}
