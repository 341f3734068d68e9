"""Limits on the pieces of a plan: names, shapes and spans of memory.

Each function yields the problems it finds, as text that names the offender.
"""

from collections.abc import Container, Iterable, Iterator
from math import prod

from .records import Argument, PlacedTensor, Plan, Region
from .storage import DEVICE_TYPES, WORD, region_size

HOST_TYPES = frozenset([*DEVICE_TYPES, "complex64", "complex128", "float64", "string", "uint64"])

TEXELS = (0, 8, 16)  # Sizes of a texel of four channels, half floats or floats; 0 for a buffer.
LARGEST_SIZE = 1 << 40  # Bytes a buffer may have.
LARGEST_COUNT = (1 << 32) - 1  # In a field of 32 bits.
LARGEST_GRID = (1 << 31) - 1  # Work-items along an axis.
LARGEST_RANK = 32
LARGEST_ARGUMENTS = 128  # Arguments of a dispatch.


def check_size(name: str, size: int) -> Iterator[str]:
    if not 0 <= size <= LARGEST_SIZE:
        yield f"{name} has {size} bytes; the limit is {LARGEST_SIZE}"


def check_unique(kind: str, names: Iterable[str]) -> Iterator[str]:
    """Whether no two names are the same; `kind` says what they name, as in "inputs named"."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield f"there are two {kind} {name!r}"
        seen.add(name)


def check_shape(
    name: str, shape: tuple[int, ...], dtype: str, dtypes: Container[str] = DEVICE_TYPES
) -> Iterator[str]:
    if dtype not in dtypes:
        yield f"{name} has dtype {dtype!r}"
    elif len(shape) > LARGEST_RANK or min(shape, default=0) < 0:
        yield f"{name} has shape {list(shape)}"
    elif prod(shape) * WORD > LARGEST_SIZE:
        yield f"{name} has shape {list(shape)}, which takes more than {LARGEST_SIZE} bytes"


def check_argument(plan: Plan, argument: Argument, name: str) -> Iterator[str]:
    yield from check_span(plan, argument, name)
    if argument.writes and argument.region in (Region.WEIGHTS, Region.INPUT):
        yield f"{name} writes to {_region(argument)}"
    if argument.texel not in TEXELS or (argument.texel and argument.writes):
        yield f"{name} {'writes' if argument.writes else 'reads'} texels of {argument.texel} bytes"
    elif argument.texel and (not argument.size or argument.size % argument.texel):
        yield f"{name} has {argument.size} bytes, not a multiple of its texels' {argument.texel}"


def check_span(plan: Plan, span: Argument | PlacedTensor, name: str) -> Iterator[str]:
    """Whether an argument or tensor lies within its buffer."""
    try:
        if span.index < 0:
            raise IndexError(span.index)
        available = region_size(plan, span.region, span.index)
    except IndexError:
        yield f"{name} lies in {_region(span)}, which does not exist"
        return
    if span.offset < 0 or span.size < 0 or span.offset + span.size > available:
        yield (
            f"{name} covers bytes {span.offset} to {span.offset + span.size} of {_region(span)}, "
            f"which has {available}"
        )


def _region(span: Argument | PlacedTensor) -> str:
    name = span.region.name.lower()
    if span.region in (Region.INPUT, Region.OUTPUT, Region.STATE) or span.index:
        return f"{name} {span.index}"
    return f"the {name}"
