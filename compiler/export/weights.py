"""One file for the weights of several variants, in which equal arrays are stored once."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...runtime.cache.variant import Variant
from ...runtime.plan.records import Plan, Region

ALIGNMENT = 64  # Bytes; where arrays start in the file.


@dataclass(frozen=True)
class Span:
    """Bytes `start` to `start + size` of the file, which belong at `to` of a variant's weights."""

    to: int
    start: int
    size: int


@dataclass(frozen=True)
class JoinedWeights:
    """The weights of some variants, each for all its signatures."""

    content: memoryview  # Of the file. It begins with the weights of the first variant.
    # Where each variant's weights lie in it, in order; a single span if they are together.
    spans: tuple[tuple[Span, ...], ...]


def join_weights(variants: Sequence[Sequence[Variant]]) -> JoinedWeights:
    """Store what variants, each given with its signatures, have in common only once."""
    pieces = [variants[0][0].weights.content]
    size = pieces[0].nbytes
    places: dict[bytes, int] = {}
    spans = []
    for signatures in variants:
        weights = signatures[0].weights.content
        first = signatures is variants[0]
        found = [Span(0, 0, size)] if first else []
        for offset, length in _arrays([variant.plan for variant in signatures]):
            array = weights[offset : offset + length]
            key = hashlib.sha256(array).digest()
            if first:
                places.setdefault(key, offset)
                continue
            if key not in places:
                padding = -size % ALIGNMENT
                places[key] = size + padding
                pieces += [memoryview(bytes(padding)), array]
                size += padding + length
            _append(found, Span(offset, places[key], length))
        spans.append(tuple(found))
    joined = pieces[0] if len(pieces) == 1 else memoryview(b"".join(pieces))
    return JoinedWeights(joined, tuple(spans))


def _append(spans: list[Span], span: Span) -> None:
    """Add a span, as a part of the last one if that continues there in the file as well."""
    if spans:
        last = spans[-1]
        moved = span.to - last.to
        if moved == span.start - last.start:
            spans[-1] = Span(last.to, last.start, moved + span.size)
            return
    spans.append(span)


def _arrays(plans: Sequence[Plan]) -> Iterator[tuple[int, int]]:
    """Offset and size of each array in the weights of some plans, in order."""
    found = {
        (argument.offset, argument.size)
        for plan in plans
        for dispatch in plan.dispatches
        for argument in dispatch.arguments
        if argument.region is Region.WEIGHTS and argument.size
    }
    found |= {
        (variable.content, variable.size)
        for plan in plans
        for variable in plan.variables
        if variable.content is not None and variable.size
    }
    yield from sorted(found)
