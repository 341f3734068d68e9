"""Sorts, which LiteRT has no kernel for: its TOPK_V2 of all values tells what is right."""

from collections.abc import Iterator

import numpy as np
from graphs import Body, Call, Part, Value, call, known, largest, transpose, typed, x, xi

from .case import Case

DIRECTION = "STABLEHLO_COMPARISON_DIRECTION_"
KINDS = {"float32": "STABLEHLO_COMPARISON_TYPE_FLOAT_TOTAL_ORDER"}


def sorts() -> Iterator[Case]:
    for size in (7, 37, 1511):
        falling = x(3, size, draw="with ties")
        down = ordered("GT", falling, axis=1)
        yield Case("STABLEHLO_SORT", f"{size} falling", down, largest(falling, size)[0])
        rising = call("NEG", largest(call("NEG", falling), size)[0])
        yield Case("STABLEHLO_SORT", f"{size} rising", ordered("LT", falling, axis=1), rising)
        places = known(np.broadcast_to(np.arange(size, dtype=np.int32), (3, size)))
        both = ordered("GT", falling, places, axis=1)
        results = [Part(both, 0), Part(both, 1)]
        yield Case("STABLEHLO_SORT", f"{size} with places", results, largest(falling, size))
    other = x(5, 7, 3)
    key = x(5, 7, 3)
    found = largest(transpose(key, 0, 2, 1), 7)[1]
    taken = call("GATHER", transpose(other, 0, 2, 1), found, axis=2, batch_dims=2)
    by_key = Part(ordered("GT", other, key, axis=1, key=1), 0)
    yield Case("STABLEHLO_SORT", "another tensor, along axis 1", by_key, transpose(taken, 0, 2, 1))
    whole = xi(5, 19)
    all_of = Call("TOPK_V2", (whole, known(np.array(19, np.int32))), outputs=2, dtype="int32")
    down = ordered("GE", whole, axis=-1)
    yield Case("STABLEHLO_SORT", "integers", down, Part(all_of, 0))


def ordered(direction: str, *operands: Value, axis: int, key: int = 0) -> Call:
    """All operands in the order of one of them."""
    dtypes = [getattr(operand, "dtype", "") or "int32" for operand in operands]
    scalars = tuple(xi(dtype=dtype) for dtype in dtypes for _ in range(2))
    kind = KINDS.get(dtypes[key], "STABLEHLO_COMPARISON_TYPE_NOTYPE")
    options = {"comparison_direction": DIRECTION + direction, "compare_type": kind}
    body = Body(
        scalars, typed("bool", "STABLEHLO_COMPARE", *scalars[2 * key : 2 * key + 2], **options)
    )
    attrs = {"dimension": axis, "is_stable": True, "comparator_subgraph_index": body}
    return Call(*("STABLEHLO_SORT", operands, attrs), outputs=len(operands), dtypes=tuple(dtypes))


TABLES = (sorts,)
