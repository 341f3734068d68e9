"""One tensor compared with what is expected."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from ..ir import Array

# Allowed error by precision, relative to the largest absolute value in the tensor or to 1.
TOLERANCES = {"f32": 1e-4, "f32_f16": 1e-2, "f16": 1e-2}

QUANTA = 3  # Steps by which any quantized value may differ.
OUTLIERS = 0.01  # Share of the quantized values that may differ by more than one step.


@dataclass(frozen=True)
class Comparison:
    """One tensor compared with what is expected: LiteRT's, or that of the kernel before an edit."""

    name: str
    max_error: float  # Largest absolute difference; infinite if the two cannot be compared.
    tolerance: float  # Largest absolute difference allowed.
    problem: str = ""  # Any other difference, such as in shape; "" if there is none.
    # Label of the dispatch that computes it, or the operator that is folded, if all tensors are
    # compared.
    label: str = ""

    # LiteRT's kernels that it is compared with: those whose result is nearest.
    kernels: str = "XNNPACK"
    # The largest difference from each of LiteRT's sets of kernels, if all were asked.
    errors: Mapping[str, float] = field(default_factory=dict)
    # How far LiteRT's results are from one another, where that is what makes it right.
    spread: float = 0.0
    # Whether they are so only where the model's numbers differ in their last bits.
    last_bits: bool = False

    @property
    def ok(self) -> bool:
        return not self.problem and self.max_error <= self.tolerance

    @property
    def verdict(self) -> str:
        """Whether they agree, and with which of LiteRT's kernels if not with XNNPACK."""
        if self.spread:
            cause = " if its numbers' last bits do" if self.last_bits else ""
            return f"ok: LiteRT's own results differ by {self.spread:.3g}{cause} ({self._errors})"
        if self.ok and self.errors:
            return f"ok: as LiteRT's {self.kernels} kernels ({self._errors})"
        return self.problem or ("ok" if self.ok else "differs")

    @property
    def _errors(self) -> str:
        apart = ", ".join(f"{kernels} {error:.3g}" for kernels, error in self.errors.items())
        return f"differences: {apart}"

    def __str__(self) -> str:
        if self.problem:
            return f"{self.name} {self.problem}"
        allowed = f"but only {self.tolerance:.3g} is allowed"
        each = f" ({self._errors})" if self.errors else ""
        return f"{self.name} differs by {self.max_error:.3g}, {allowed}{each}"


def compare(
    name: str,
    actual: Array,
    expected: Array,
    precision: str = "f32",
    scale: float = 0.0,
    whose: str = "LiteRT's",
    tolerance: float | None = None,
) -> Comparison:
    """Compare an array with an expected one in shape, NaN and infinities, and values.

    Floats may differ by the tolerance, by default the precision's, * max(1, largest absolute
    value), quantized integers (`scale` is not 0) by `QUANTA`, and other integers not at all. Of
    complex numbers both parts are compared, and float16 is half precision whatever is computed
    with. Problems say `whose` the expected array is.
    """
    floating = expected.dtype.kind in "fc"
    precision = "f16" if expected.dtype == np.float16 else precision
    relative = TOLERANCES[precision] if tolerance is None else tolerance
    tolerance = 0.0 if floating or not scale else float(QUANTA)
    if actual.shape != expected.shape:
        problem = f"has the shape {list(actual.shape)}, but {whose} is {list(expected.shape)}"
        return Comparison(name, inf, tolerance, problem)
    if expected.dtype.kind in "SO":
        same_text = actual.tolist() == expected.tolist()
        return Comparison(name, 0.0, 0.0, "" if same_text else f"has other strings than {whose}")
    got, wanted = _real(actual), _real(expected)
    if floating:
        finite = np.abs(wanted[np.isfinite(wanted)])
        tolerance = relative * max(1.0, float(finite.max(initial=0.0)))
        if problem := _special_values(got, wanted, whose):
            return Comparison(name, inf, tolerance, problem)
    same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    error = np.abs(np.subtract(got, wanted, out=np.zeros_like(got), where=~same))
    outliers = float(np.mean(error > 1)) if error.size and tolerance == QUANTA else 0.0
    problem = f"differs by more than one step in {outliers:.1%} of its elements"
    return Comparison(
        name, float(error.max(initial=0.0)), tolerance, problem if outliers > OUTLIERS else ""
    )


def _real(array: Array) -> Array:
    """Numbers as float64; of complex ones the real and imaginary parts, along one axis more."""
    real = np.stack([array.real, array.imag], -1) if array.dtype.kind == "c" else array
    return real.astype(np.float64)


def _special_values(actual: Array, expected: Array, whose: str) -> str:
    """How the NaN and infinities of two arrays differ; "" if they agree."""
    kinds: tuple[tuple[str, Any], ...] = (
        ("NaN", np.isnan),
        ("infinite", np.isposinf),
        ("negatively infinite", np.isneginf),
    )
    for kind, test in kinds:
        wrong = test(actual) != test(expected)
        if wrong.any():
            first = [int(place[0]) for place in np.nonzero(wrong)]
            has, has_not = ("is", "is not") if test(actual)[tuple(first)] else ("is not", "is")
            return (
                f"{has} {kind} at {first} where {whose} {has_not} "
                f"({np.count_nonzero(wrong)} of {wrong.size} elements)"
            )
    return ""
