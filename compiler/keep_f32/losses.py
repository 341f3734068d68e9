"""What rounding to half precision costs at the outputs of a model, by runs of copies on LiteRT.

A copy is made for each set of roundings that is tried, so that a run takes about as long as one of
the model: no device takes part, and no kernel is compiled.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from math import inf

import numpy as np

from ..ir import Array, Graph
from ..litert.reference import Reference
from .rounded_copy import Rounding, rounded_copy, roundings

Sample = Sequence[Array]  # The inputs of a run, in their order.


class Losses:
    """Measures what sets of operators lose, and remembers it."""

    def __init__(
        self,
        read: Callable[[], Graph],
        stored: Collection[str],
        samples: Sequence[Sample],
        progress: Callable[[], None] = lambda: None,
    ) -> None:
        """`read` reads the model anew; `stored` names the tensors in half precision. `progress` is
        called before each set that is tried.

        ModelError if LiteRT cannot run the copies.
        """
        self._read, self._progress = read, progress
        self._roundings = roundings(read(), stored)
        self._everything = self._own(self._roundings)
        # The errors of as many samples as were needed, by what is rounded.
        self._known: dict[frozenset[Rounding], list[float]] = {}
        # The samples with the outputs without roundings.
        self._samples = list(zip(samples, self._outputs(frozenset(), samples), strict=True))
        lost = self._errors(self._everything, len(samples))
        # Those that lose most come first, as they decide most trials.
        order = sorted(range(len(samples)), key=lambda number: -lost[number])
        self._samples = [self._samples[number] for number in order]
        self._known[self._everything] = [lost[number] for number in order]

    @property
    def operators(self) -> list[int]:
        """The operators of which something can be rounded, in the order of execution."""
        return [op for op, own in self._roundings.items() if own]

    def of_rounding(self, ops: Iterable[int]) -> float:
        """The error if only these operators are rounded, for the sample that loses most."""
        return self._errors(self._own(ops), 1)[0]

    def suffices(self, kept: Iterable[int], tolerance: float) -> bool:
        """Whether all samples are within the tolerance if only these are not rounded."""
        rounded = self._everything - self._own(kept)
        return max(self._errors(rounded, len(self._samples), tolerance)) <= tolerance

    def _own(self, ops: Iterable[int]) -> frozenset[Rounding]:
        return frozenset[Rounding]().union(*(self._roundings[op] for op in ops))

    def _errors(
        self, rounded: frozenset[Rounding], count: int, most: float = inf
    ) -> Sequence[float]:
        """The errors of the first samples, so many or up to the first that exceeds `most`."""
        known = self._known.setdefault(rounded, [])
        if len(known) < count and max(known, default=0.0) <= most:
            self._progress()
            left = self._samples[len(known) : count]
            runs = self._outputs(rounded, [inputs for inputs, _ in left])
            for outputs, (_, exact) in zip(runs, left, strict=False):
                known.append(max(map(relative_error, outputs, exact)))
                if known[-1] > most:
                    break
        return known[:count]

    def _outputs(
        self, rounded: frozenset[Rounding], samples: Sequence[Sample]
    ) -> Iterator[Sequence[Array]]:
        """The outputs for each sample, one run after another."""
        copy = rounded_copy(self._read(), rounded)
        shapes = [array.shape for array in samples[0]]
        model = Reference(copy, input_shapes=shapes, kernels="XNNPACK")
        for inputs in samples:
            yield model.run(inputs)


def relative_error(actual: Array, expected: Array) -> float:
    """The largest difference, relative to the largest absolute value of `expected` or to 1.

    Infinite if one is not finite where the other is, or if shapes differ; 0 if equal.
    """
    if expected.dtype.kind != "f" or actual.shape != expected.shape:
        same = actual.shape == expected.shape and bool(np.all(actual == expected))
        return 0.0 if same else np.inf
    finite = np.isfinite(expected)
    if np.any(np.isfinite(actual) != finite):
        return np.inf
    wanted = expected[finite].astype(np.float64)
    difference = np.abs(actual[finite] - wanted).max(initial=0.0)
    return float(difference / max(1.0, np.abs(wanted).max(initial=0.0)))
