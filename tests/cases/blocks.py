"""Blocks of pixels as channels or batches."""

from collections.abc import Iterator

import numpy as np
from graphs import call, ints, known, typed, x, xi

from .case import Case


def blocks() -> Iterator[Case]:
    large = call("DEPTH_TO_SPACE", x(1, 40, 100, 288), block_size=3)
    yield Case("DEPTH_TO_SPACE", "beyond a row of the grid", large)
    for operator in ("SPACE_TO_DEPTH", "DEPTH_TO_SPACE"):
        yield Case(operator, "blocks of one", call(operator, x(2, 3, 5, 7), block_size=1))
    for channels in (3, 16, 32):
        for size in (2, 3):
            shape = (2, 2 * size, 5 * size, channels)
            value = call("SPACE_TO_DEPTH", x(*shape), block_size=size)
            yield Case("SPACE_TO_DEPTH", f"{shape} by {size}", value)
            shape = (2, 3, 5, channels * size * size)
            value = call("DEPTH_TO_SPACE", x(*shape), block_size=size)
            yield Case("DEPTH_TO_SPACE", f"{shape} by {size}", value)
        for pads in ([[0, 0], [0, 0]], [[1, 2], [0, 3]], [[0, 2], [0, 3]]):
            table = known(np.array(pads, np.int32))
            sizes = [6 - sum(pads[0]), 9 - sum(pads[1])]
            value = call("SPACE_TO_BATCH_ND", x(2, *sizes, channels), ints(2, 3), table)
            yield Case("SPACE_TO_BATCH_ND", f"{channels} {pads}", value)
            value = call("BATCH_TO_SPACE_ND", x(12, 5, 7, channels), ints(2, 3), table)
            yield Case("BATCH_TO_SPACE_ND", f"{channels} {pads}", value)
    table = known(np.array([[1, 2]], np.int32))
    value = call("SPACE_TO_BATCH_ND", x(2, 7, 5), ints(2), table)
    yield Case("SPACE_TO_BATCH_ND", "rank 3", value)
    value = call("BATCH_TO_SPACE_ND", x(6, 7, 5), ints(2), table)
    yield Case("BATCH_TO_SPACE_ND", "rank 3", value)
    value = call("DEPTH_TO_SPACE", x(2, 3, 5, 64), block_size=2)
    yield Case("DEPTH_TO_SPACE", "fused", call("RELU", call("ADD", value, x(16))))
    for dtype in ("int32", "int64"):
        value = typed(dtype, "SPACE_TO_DEPTH", xi(2, 4, 6, 3, dtype=dtype), block_size=2)
        yield Case("SPACE_TO_DEPTH", dtype, value)


TABLES = (blocks,)
