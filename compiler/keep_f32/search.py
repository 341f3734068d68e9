"""The search: tries sets of operators in a copy of the model, and the best set on the device.

Half precision loses most where a value is a small difference of large ones, or where many roundings
add up, and what is lost early may not matter at the outputs. So it is there that it is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...runtime import load
from ...runtime.plan.records import TensorInfo
from ..devices.attached import attached_device
from ..errors import ModelError, OptionError, PassError
from ..frontend.model_file import Model
from ..frontend.reader import read
from ..ir import Array
from ..litert.reference import Reference
from ..options import Options
from ..pipeline import Progress, build, silent, store
from ..scratch import scratch_folder
from ..trial_input import trial_input
from .error import relative_error
from .rounded_copy import RoundedCopy

AUTO = ("auto",)
"""The value of `Options.keep_f32` that asks for the search."""
TOLERANCE = 1e-2
"""Allowed error, relative to the largest absolute value of an output or to 1."""
HALF = "float16"
STRICTER = 0.5
"""Factor of the tolerance in the copy each time that the device shows more error."""
ATTEMPTS = 8
"""Most sets that are tried on the device."""


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
        self._arrays: dict[str, Array] = {}
        self._expected: Sequence[Array] = ()
        self._halves: frozenset[str] = frozenset()
        """The tensors that the device stores in half precision, as of the last run."""

    def fewest(self) -> tuple[int, ...]:
        """Few operators with which the outputs are within the tolerance on the device."""
        if self._suffice(()):
            return ()
        shapes, signature = dict(self._options.input_shapes), self._options.signature or None
        graph = read(self._model, shapes, signature)
        halves, everything = self._halves, tuple(op.index for op in graph.ops)
        if not self._suffice(everything):
            raise OptionError(
                f"keep_f32='auto': errors exceed {self._tolerance:g} of the largest value even if "
                f"all operators are kept; raise the tolerance"
            )
        arrays = [self._arrays[name] for name in graph.input_names]
        try:
            copy = RoundedCopy(graph, halves, arrays)
        except (ModelError, PassError):
            return everything  # LiteRT has no kernels for what is between the switches
        for attempt in range(ATTEMPTS):
            kept = copy.fewest(self._tolerance * STRICTER**attempt)
            if self._suffice(kept):
                return kept
        return everything

    def _suffice(self, kept: tuple[int, ...]) -> bool:
        """Whether outputs are within the tolerance on the device if these operators are kept."""
        self._runs += 1
        self._progress("keep_f32", self._runs, self._runs + 1)
        with scratch_folder() as cache:
            folder = store(build(self._model, replace(self._options, keep_f32=kept)), cache)
            device = attached_device(self._options.device)
            with load(folder, device=device, store_binaries=False) as session:
                arrays = {info.name: trial_input(info) for info in session.inputs}
                found = session.run(arrays).values()
                placed = session.plan.tensors
                self._halves = frozenset(item.name for item in placed if item.stored == HALF)
                if not self._expected:
                    self._arrays = arrays
                    self._expected = self._reference(session.inputs)
        errors = map(relative_error, found, self._expected)
        return all(error <= self._tolerance for error in errors)

    def _reference(self, inputs: Sequence[TensorInfo]) -> Sequence[Array]:
        signature = self._options.signature
        if signature:
            return Reference(self._model, delegates=True, signature=signature).run(self._arrays)
        shapes = [info.shape for info in inputs]
        reference = Reference(self._model, input_shapes=shapes, delegates=True)
        return reference.run([self._arrays[info.name] for info in inputs])
