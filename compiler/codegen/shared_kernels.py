"""Kernels for several sizes, in a language whose kernels are compiled at each start.

Kernels that differ in sizes alone become one, which reads them from an array, unless they do much
of the model's work: browsers check each index of an array, which takes longer if the array has no
constant size. Numbers that kernels have in common stay constants.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

from .kernel_source import KernelSource, Parameter
from .wgsl.kernel import SIZES

SHARED = 0.125  # Most of a model's operations that are computed by kernels for several sizes.


class Shared(NamedTuple):
    """A kernel that computes another one."""

    source: KernelSource
    sizes: tuple[int, ...] = ()  # What it reads there, if it computes several.


def shared(work: Mapping[KernelSource, int], most: int) -> Mapping[KernelSource, Shared]:
    """What computes each kernel, of which `work` has the operations; with `most` buffers."""
    whole = SHARED * sum(work.values())
    able = [each for each in work if work[each] <= whole and len(each.parameters) < most]
    # Forms are printed, which takes long, so that few are asked for theirs.
    groups = [group for alike in _groups(able, _outside) for group in _groups(alike, _form)]
    several = sorted((each for group in groups for each in group), key=work.__getitem__)
    sums = accumulate(map(work.__getitem__, several))
    little = {each for each, done in zip(several, sums, strict=True) if done <= whole}
    found = {source: Shared(source) for source in work}
    for group in groups:
        members = [each for each in group if each in little]
        if len(members) > 1:
            found |= _together(members)
    return found


def _groups(
    sources: Iterable[KernelSource], alike: Callable[[KernelSource], object]
) -> list[list[KernelSource]]:
    """Kernels in which something is alike."""
    found: dict[object, list[KernelSource]] = {}
    for source in sources:
        found.setdefault(alike(source), []).append(source)
    return [group for group in found.values() if len(group) > 1]


def _outside(source: KernelSource) -> object:
    printed = source.printed
    return source.template, source.group, source.intrinsics, printed.functions, len(printed.sizes)


def _form(source: KernelSource) -> KernelSource:
    """What is the same for kernels that differ in sizes alone: all of these are read."""
    names = {place: f"size{place}" for place in range(len(source.printed.sizes))}
    return _reading(source, names, (0,) * len(source.parameters))


def _together(members: Sequence[KernelSource]) -> Iterator[tuple[KernelSource, Shared]]:
    """One kernel for all of these, which reads what differs."""
    columns = [*zip(*(each.printed.sizes for each in members), strict=True)]
    differ = dict.fromkeys(column for column in columns if len(set(column)) > 1)
    names = {column: f"size{number}" for number, column in enumerate(differ)}
    given = {place: names[column] for place, column in enumerate(columns) if column in names}
    counts = zip(*([each.count for each in source.parameters] for source in members), strict=True)
    same = [each[0] if len(set(each)) == 1 else 0 for each in counts]
    joined = _reading(members[0], given, same)
    for number, source in enumerate(members):
        yield source, Shared(joined, tuple(column[number] for column in differ))


def _reading(source: KernelSource, given: Mapping[int, str], counts: Sequence[int]) -> KernelSource:
    """A kernel that reads some sizes, with so many elements in its arrays."""
    assert source.printed.reading
    pairs = zip(source.parameters, counts, strict=True)
    parameters = [replace(each, count=count) for each, count in pairs]
    read = len(set(given.values()))
    if read:
        parameters.append(
            Parameter(SIZES, "int", writes=False, texel=0, writable=False, count=read)
        )
    return replace(source, parameters=tuple(parameters), printed=source.printed.reading(given))
