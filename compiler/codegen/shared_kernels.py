"""Kernels for several sizes, in a language whose kernels are compiled at each start.

Kernels that differ in sizes alone become one, which reads them from an array, unless they do much
of the model's work: browsers check each index of an array, which takes longer if the array has no
constant size. Numbers that kernels have in common stay constants.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

from .kernel_source import KernelSource, Parameter
from .wgsl.kernel import SIZES

SHARED = 0.125
"""Most of a model's operations that are computed by kernels for several sizes."""


class Shared(NamedTuple):
    """A kernel that computes another one."""

    source: KernelSource
    sizes: tuple[int, ...] = ()
    """What it reads there, if it computes several."""


def shared(work: Mapping[KernelSource, int], most: int) -> Mapping[KernelSource, Shared]:
    """What computes each kernel, of which `work` has the operations; with `most` buffers."""
    forms: dict[KernelSource, list[KernelSource]] = {}
    for source in work:
        form = _form(source) if len(source.parameters) < most else source
        forms.setdefault(form, []).append(source)
    several = [each for members in forms.values() if len(members) > 1 for each in members]
    several.sort(key=work.__getitem__)
    sums = accumulate(map(work.__getitem__, several))
    whole = SHARED * sum(work.values())
    little = {each for each, done in zip(several, sums, strict=True) if done <= whole}
    found = {source: Shared(source) for source in work}
    for members in forms.values():
        fitting = [each for each in members if each in little]
        if len(fitting) > 1:
            found |= _together(fitting)
    return found


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
