"""Comparison with LiteRT, whose sets of kernels may differ from one another.

They compute the same model with different results where activations are quantized on the fly, where
sums are long, or where one of them has a defect. A result is right if it is that of any of them, or
if they differ more from one another than it does from the nearest. Only XNNPACK, which LiteRT runs
by default, is asked where that agrees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from math import isfinite
from typing import get_args

from ...runtime.litert.module import KernelSet
from ...runtime.plan.records import TensorInfo
from ..errors import ModelError
from ..ir import Array
from .comparison import Comparison, compare

Asked = Mapping[str, tuple[TensorInfo, Array]]
"""What LiteRT computes, by the tensors' names."""


@dataclass(frozen=True)
class Result:
    """What a compiled model computes, or has computed beforehand."""

    name: str
    value: Array
    """Integers may also be floats less their zero point, as kernels compute with them."""
    label: str = ""
    """As `Comparison.label`."""


def against_litert(
    results: Iterable[Result], ask: Callable[[KernelSet], Asked], precision: str
) -> Iterator[Comparison]:
    """Compare each result that LiteRT also has.

    `ask` runs LiteRT with one set of kernels. Raises what it raises for XNNPACK; the others are
    left out if it raises a ModelError.
    """

    @cache
    def asked(kernels: KernelSet) -> Asked:
        with suppress(ModelError):
            return ask(kernels)
        return {}

    usual = ask("XNNPACK")
    for result in results:
        if result.name not in usual:
            continue
        found = _compared(result, usual[result.name], precision)
        if not found.ok:
            others = {kernels: asked(kernels) for kernels in get_args(KernelSet)[1:]}
            expected = {
                kernels: every[result.name]
                for kernels, every in {"XNNPACK": usual, **others}.items()
                if result.name in every
            }
            found = _nearest(result, expected, precision)
        yield replace(found, label=result.label)


def _compared(result: Result, expected: tuple[TensorInfo, Array], precision: str) -> Comparison:
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
    best = replace(found[closest], kernels=closest, errors=errors)
    if best.ok or not isfinite(best.max_error):
        return best
    apart = [
        compare(result.name, first, second, precision, info.scale)
        for (_, first), (info, second) in combinations(expected.values(), 2)
    ]
    spread = max((item.max_error for item in apart if isfinite(item.max_error)), default=0.0)
    if best.max_error > spread:
        return best
    return replace(best, problem="", tolerance=max(best.tolerance, spread), spread=spread)
