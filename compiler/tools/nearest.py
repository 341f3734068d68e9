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
from functools import cache
from itertools import combinations
from math import isfinite
from typing import get_args

from ...runtime.litert.module import KernelSet
from ..errors import ModelError
from ..ir import Array
from ..litert.child import Output
from .comparison import Comparison, compare

Asked = Mapping[str, Output]  # What LiteRT computes, by the tensors' names.


@dataclass(frozen=True)
class Result:
    """What a compiled model computes, or has computed beforehand."""

    name: str
    value: Array  # Integers may also be floats less their zero point, as kernels compute with them.
    label: str = ""  # As `Comparison.label`.


COPIES = 4  # Copies of a model with other last bits that LiteRT runs.


def against_litert(
    results: Iterable[Result],
    usual: tuple[KernelSet, Asked],
    ask: Callable[[KernelSet], Asked],
    ask_copy: Callable[[int], Asked],
    precision: str,
) -> Iterator[Comparison]:
    """Compare each result that LiteRT also has.

    `usual` is what `usual_kernels` returns. `ask` runs LiteRT with one set of kernels, `ask_copy`
    runs a copy of the model with other last bits, by its number. Those that raise a ModelError are
    left out.
    """
    first, asked = usual

    @cache
    def kernels_of(kernels: KernelSet) -> Asked:
        with suppress(ModelError):
            return ask(kernels)
        return {}

    @cache
    def copy_of(number: int) -> Asked:
        with suppress(ModelError):
            return ask_copy(number)
        return {}

    for result in results:
        if result.name not in asked:
            continue
        found = replace(_compared(result, asked[result.name], precision), kernels=first)
        if not found.ok:
            others = (kernels for kernels in get_args(KernelSet)[1:] if kernels != first)
            every = {first: asked, **{kernels: kernels_of(kernels) for kernels in others}}
            expected = {
                kernels: found_by[result.name]
                for kernels, found_by in every.items()
                if result.name in found_by
            }
            found = _nearest(result, expected, precision)
            found = _within_spread(found, list(expected.values()), precision)
            if not found.ok and isfinite(found.max_error):
                copies = [copy_of(number) for number in range(COPIES)]
                moved = [every[result.name] for every in copies if result.name in every]
                found = _within_spread(found, [*expected.values(), *moved], precision)
                found = replace(found, last_bits=found.ok)
        yield replace(found, label=result.label)


def usual_kernels(ask: Callable[[KernelSet], Asked]) -> tuple[KernelSet, Asked]:
    """XNNPACK, or LiteRT's own kernels where it rejects the model, and what they compute.

    ModelError if these reject it, too: that of XNNPACK.
    """
    try:
        return "XNNPACK", ask("XNNPACK")
    except ModelError:
        with suppress(ModelError):
            return "built-in", ask("built-in")
        raise


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

    Floats may also be rounded otherwise, as anywhere.
    """
    if found.ok or not isfinite(found.max_error):
        return found
    rounding = found.tolerance if theirs[0][1].dtype.kind == "f" else 0.0
    apart = [
        compare(found.name, first, second, precision, info.scale)
        for (_, first), (info, second) in combinations(theirs, 2)
    ]
    spread = max((item.max_error for item in apart if isfinite(item.max_error)), default=0.0)
    if found.max_error > spread + rounding:
        return found
    allowed = max(found.tolerance, spread + rounding)
    return replace(found, problem="", tolerance=allowed, spread=spread)
