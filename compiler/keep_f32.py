"""The search for operators to keep in single precision, so that an f16 model is accurate enough.

Half precision loses most where a value is a small difference of large ones, or where many roundings
add up. The search measures how much error each operator adds, and keeps the worst ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..runtime import load
from ..runtime.plan.records import TensorInfo
from .devices.attached import attached_device
from .errors import OptionError
from .frontend.reader import read
from .ir import Array, Graph
from .litert.reference import Reference
from .options import Options
from .pipeline import Model, Progress, build, silent, store
from .scratch import scratch_folder
from .trial_input import trial_input

AUTO = ("auto",)
"""The value of `Options.keep_f32` that asks for the search."""
TOLERANCE = 1e-2
"""Allowed error, relative to the largest absolute value of an output or to 1."""
TRIALS = 12
"""Most compilations for dropping operators from a set that suffices."""


def settle(
    model: Model, options: Options, tolerance: float = TOLERANCE, progress: Progress = silent
) -> Options:
    """The options with the operators that a search finds in place of "auto".

    The model runs on an attached device with random inputs of the first choice of shapes.
    OptionError if it misses the tolerance in single precision; also raises what compiling and
    loading raise.
    """
    if options.keep_f32 != AUTO:
        return options
    # LiteRT, whose results are the measure, knows nothing of formats.
    plain = replace(options.for_each_choice()[0], inputs=(), outputs=())
    return replace(options, keep_f32=_Search(model, plain, tolerance, progress).fewest())


class _Search:
    def __init__(
        self, model: Model, options: Options, tolerance: float, progress: Progress
    ) -> None:
        self._model, self._options = model, options
        self._tolerance, self._progress = tolerance, progress
        self._runs = 0
        self._expected: Sequence[Array] | None = None

    def fewest(self) -> tuple[int, ...]:
        """Operators of which none can be left out, as far as the search looks."""
        if self._suffice(()):
            return ()
        ranked = self._ranked()
        if not self._suffice(ranked):
            raise OptionError(
                f"keep_f32='auto': errors exceed {self._tolerance:g} of the largest value even if "
                f"all operators are kept; raise the tolerance"
            )
        few, enough = 0, len(ranked)
        while enough - few > 1:
            # Most models need few operators, so that the search is denser there.
            middle = min((few + enough) // 2, 2 * few + 1)
            few, enough = (few, middle) if self._suffice(ranked[:middle]) else (middle, enough)
        return self._without_idle(ranked[:enough])

    def _without_idle(self, kept: tuple[int, ...]) -> tuple[int, ...]:
        """The operators without runs of them that turn out to be unnecessary."""
        size, trials = len(kept) // 2, 0
        while size and trials < TRIALS:
            start = 0
            while start < len(kept) and trials < TRIALS:
                fewer = kept[:start] + kept[start + size :]
                trials += 1
                if fewer and self._suffice(fewer):
                    kept = fewer
                else:
                    start += size
            size //= 2
        return tuple(sorted(kept))

    def _suffice(self, kept: tuple[int, ...]) -> bool:
        """Whether outputs are within the tolerance if these operators are kept."""
        self._runs += 1
        self._progress("keep_f32", self._runs, self._runs + 1)
        found, _ = self._run(replace(self._options, keep_f32=kept))
        assert self._expected is not None
        errors = map(relative_error, found, self._expected)
        return all(error <= self._tolerance for error in errors)

    def _ranked(self) -> tuple[int, ...]:
        """All operators, first those that add most error to what they read."""
        whole = replace(self._options, keep_intermediates=True, keep_f32=())
        _, half = self._run(whole)
        _, single = self._run(replace(whole, precision="f32"))
        errors = {name: relative_error(half[name], single[name]) for name in half.keys() & single}
        graph = read(self._model, dict(self._options.input_shapes), self._options.signature or None)
        return _by_added_error(graph, errors)

    def _run(self, options: Options) -> tuple[list[Array], dict[str, Array]]:
        """The outputs, and the intermediate tensors if they are kept, by name."""
        with scratch_folder() as cache:
            folder = store(build(self._model, options), cache)
            device = attached_device(options.device)
            with load(folder, device=device, store_binaries=False) as session:
                arrays = {info.name: trial_input(info) for info in session.inputs}
                outputs = session.run(arrays)
                if self._expected is None:
                    self._expected = self._reference(session.inputs, arrays)
                inner = {}
                if options.keep_intermediates:
                    inner = {item.name: session.read(item.name) for item in session.plan.tensors}
                return list(outputs.values()), inner

    def _reference(
        self, inputs: Sequence[TensorInfo], arrays: Mapping[str, Array]
    ) -> Sequence[Array]:
        signature = self._options.signature
        if signature:
            return Reference(self._model, delegates=True, signature=signature).run(dict(arrays))
        shapes = [info.shape for info in inputs]
        reference = Reference(self._model, input_shapes=shapes, delegates=True)
        return reference.run([arrays[info.name] for info in inputs])


def _by_added_error(graph: Graph, errors: Mapping[str, float]) -> tuple[int, ...]:
    """Indices of the operators, sorted by the error of their results less that of their inputs.

    The error of a tensor that is never stored is that of what it is computed from.
    """
    known: dict[str, float] = {}
    added: dict[int, float] = {}
    for op in graph.ops:
        before = max((known.get(tensor.name, 0.0) for tensor in op.inputs if tensor), default=0.0)
        for tensor in op.outputs:
            known[tensor.name] = errors.get(tensor.name, before)
        after = max((known[tensor.name] for tensor in op.outputs), default=0.0)
        added[op.index] = after - before
    return tuple(sorted(added, key=lambda index: (-added[index], -index)))


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
