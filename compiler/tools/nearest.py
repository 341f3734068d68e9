"""Comparison with LiteRT, whose sets of kernels may differ from one another.

They compute the same model with different results where activations are quantized on the fly, where
sums are long, or where one of them has a defect. A result is right if it is that of any of them, or
if they differ more from one another than it does from the nearest. Only XNNPACK, which LiteRT runs
by default, is asked where that agrees; where it rejects the model, the others are asked.

Where all of them round alike, and a result is that of none, LiteRT also runs copies of the model
whose numbers have other last bits: it is right, too, if these move LiteRT's results as far.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import combinations
from math import isfinite
from typing import TypeVar, get_args

import numpy as np

from ...runtime.litert.module import KernelSet
from ..errors import ModelError
from ..ir import Array
from ..litert.child import Output
from .comparison import Comparison, compare

T = TypeVar("T")

Asked = Mapping[str, Output]  # What LiteRT computes, by the tensors' names.


@dataclass(frozen=True)
class Result:
    """What a compiled model computes, or has computed beforehand."""

    name: str
    value: Array  # Integers may also be floats less their zero point, as kernels compute with them.
    label: str = ""  # As `Comparison.label`.


COPIES = 4  # Copies of a model with other last bits that LiteRT runs.


class Answers:
    """What LiteRT computes of a model, with each set of kernels and of each copy once.

    `ask` runs it with one set of kernels, `ask_copy` runs a copy of the model with other last bits,
    by its number. Those that raise a ModelError compute nothing.
    """

    def __init__(self, ask: Callable[[KernelSet], Asked], ask_copy: Callable[[int], Asked]) -> None:
        self._ask = ask
        self.by_kernels = cache(partial(_nothing_if_rejected, ask))
        self.by_copy = cache(partial(_nothing_if_rejected, ask_copy))

    @cached_property
    def usual(self) -> tuple[KernelSet, Asked]:
        """XNNPACK, or LiteRT's own kernels where it rejects the model, and what they compute.

        ModelError if these reject it, too: that of XNNPACK.
        """
        try:
            return "XNNPACK", self._ask("XNNPACK")
        except ModelError:
            with suppress(ModelError):
                return "built-in", self._ask("built-in")
            raise


def _nothing_if_rejected(ask: Callable[[T], Asked], what: T) -> Asked:
    with suppress(ModelError):
        return ask(what)
    return {}


def against_litert(
    results: Iterable[Result], answers: Answers, precision: str
) -> Iterator[Comparison]:
    """Compare each result that LiteRT also has."""
    first, asked = answers.usual
    for result in results:
        if result.name not in asked:
            continue
        found = replace(_compared(result, asked[result.name], precision), kernels=first)
        if not found.ok:
            others = (kernels for kernels in get_args(KernelSet)[1:] if kernels != first)
            every = {first: asked, **{kernels: answers.by_kernels(kernels) for kernels in others}}
            expected = {
                kernels: found_by[result.name]
                for kernels, found_by in every.items()
                if result.name in found_by
            }
            found = _nearest(result, expected, precision)
            found = _within_spread(found, list(expected.values()), precision)
            if not found.ok and isfinite(found.max_error):
                copies = [answers.by_copy(number) for number in range(COPIES)]
                moved = [every[result.name] for every in copies if result.name in every]
                found = _within_spread(found, [*expected.values(), *moved], precision)
                found = replace(found, last_bits=found.ok)
        yield replace(found, label=result.label)


def _compared(result: Result, expected: Output, precision: str) -> Comparison:
    info, wanted = expected
    actual = result.value
    if actual.dtype.kind == "f" and wanted.dtype.kind in "iu":
        actual = actual + info.zero_point
    return compare(result.name, actual, wanted, precision, info.scale)


def _nearest(result: Result, expected: Asked, precision: str) -> Comparison:
    """The comparison with the nearest of LiteRT's results, by the set of kernels."""
    found = {kernels: _compared(result, each, precision) for kernels, each in expected.items()}
    closest = min(found, key=lambda kernels: (not found[kernels].ok, found[kernels].max_error))
    errors = {kernels: each.max_error for kernels, each in found.items()}
    return replace(found[closest], kernels=closest, errors=errors)


def _within_spread(found: Comparison, theirs: Sequence[Output], precision: str) -> Comparison:
    """The same comparison, but right if LiteRT's results differ as much from one another.

    Floats may also be rounded otherwise, as anywhere. Those that only some of its results are
    finite at, as where numbers grow beyond measure, say nothing of how far these are apart.
    """
    if found.ok or not isfinite(found.max_error):
        return found
    rounding = found.tolerance if theirs[0][1].dtype.kind == "f" else 0.0
    apart = [
        compare(found.name, *_both_finite(first, second), precision, info.scale)
        for (_, first), (info, second) in combinations(theirs, 2)
    ]
    spread = max((item.max_error for item in apart if isfinite(item.max_error)), default=0.0)
    if found.max_error > spread + rounding:
        return found
    allowed = max(found.tolerance, spread + rounding)
    return replace(found, problem="", tolerance=allowed, spread=spread)


def _both_finite(first: Array, second: Array) -> tuple[Array, Array]:
    """The elements of two arrays that are finite in both; integers as they are."""
    if first.dtype.kind not in "fc" or first.shape != second.shape:
        return first, second
    finite = np.isfinite(first) & np.isfinite(second)
    return first[finite], second[finite]
