"""The search: measures on the device, and finds what to keep by copies of the model.

Half precision loses most where a value is a small difference of large ones, or where many roundings
add up, and what is lost early may not matter at the outputs. So it is there that it is measured.
"""

from dataclasses import replace
from functools import cached_property, partial
from itertools import count

from ...runtime import load
from ...runtime.errors import DeviceError, PlanError
from ..choices import each_choice
from ..devices.attached import attached_device
from ..emit.compiled_model import CompiledModel
from ..errors import EstimateWarning, ModelError, OptionError, PassError
from ..frontend.model_file import Model
from ..frontend.reader import read
from ..options import Options
from ..pipeline import build, target_of, write
from ..resized_model import fitted_model
from ..scratch import scratch_folder
from ..telling import Progress, silent, tell, told
from .fewest import Fewest
from .losses import Losses
from .samples import Samples

AUTO = ("auto",)  # The value of `Options.keep_f32` that asks for the search.
TOLERANCE = 1e-2  # Allowed error, relative to the largest absolute value of an output or to 1.
MARGIN = 0.7  # Share of the tolerance that the samples may take, as other inputs can lose more.
HALF = "float16"
# Least factor by which the copies' tolerance shrinks when the device shows more error.
STRICTER = 0.25
# Sets that the copies propose; then the operators that cost most are added to the last.
ATTEMPTS = 4


def settle(
    model: Model, options: Options, tolerance: float = TOLERANCE, progress: Progress = silent
) -> Options:
    """The options with the operators that a search finds in place of "auto".

    The model is measured with the first signature and choice of shapes on an attached device; with
    a warning by copies alone, if none can run it. OptionError if it misses the tolerance in single
    precision; also raises what compiling raises.
    """
    if not isinstance(tolerance, (int, float)) or not tolerance > 0:
        raise OptionError(f"tolerance={tolerance!r}: give a number above 0, such as {TOLERANCE}")
    if options.keep_f32 != AUTO:
        return options
    # LiteRT, whose results are the measure, knows nothing of formats.
    plain = replace(each_choice(model, options)[0], inputs=(), outputs=())
    return replace(options, keep_f32=_Search(model, plain, tolerance, progress).few())


class _Search:
    def __init__(
        self, model: Model, options: Options, tolerance: float, progress: Progress
    ) -> None:
        self._model, self._options = model, options
        self._tolerance, self._progress = tolerance, progress
        self._steps = 0
        self._halved = self._build(())  # The compiled model with nothing kept.
        whole, key = fitted_model(model, options, target_of(options))
        self._samples = Samples(whole, self._halved.plan.inputs, key)
        self._read = partial(read, whole, dict(options.input_shapes), key or None)
        graph = self._read()
        self._input_names = graph.input_names
        self._everything = tuple(sorted(op.index for op in graph.ops))

    @cached_property
    def _copies(self) -> Fewest | None:
        """The search by copies of the model; None if LiteRT cannot run them."""
        halves = {t.name for t in self._halved.plan.tensors if t.stored == HALF}
        arrays = [[drawn[name] for name in self._input_names] for drawn in self._samples.inputs]
        try:
            return Fewest(Losses(self._read, halves, arrays, self._step), self._tolerance)
        except (ModelError, PassError):
            return None

    def few(self) -> tuple[int, ...]:
        """Few operators with which the outputs are within the tolerance on the device."""
        allowed = asked = self._tolerance * MARGIN
        kept: tuple[int, ...] = ()
        for attempt in count():
            try:
                error = self._measure(kept)
            except (DeviceError, PlanError) as reason:
                return self._unmeasured(allowed, reason)
            single = kept == self._everything
            if error <= (self._tolerance if single else allowed):
                break
            if single:
                raise OptionError(
                    f"keep_f32='auto': errors exceed {self._tolerance:g} of the largest value even "
                    f"if all operators are kept; raise the tolerance"
                )
            if attempt:
                asked *= max(STRICTER, min(MARGIN, allowed / error))
            kept = self._more(kept, attempt, asked)
        return kept

    def _more(self, kept: tuple[int, ...], attempt: int, asked: float) -> tuple[int, ...]:
        """More operators: as many as the copies need for an error, or those that cost most."""
        if not self._copies:
            return self._everything
        proposed = self._copies.within(asked) if attempt < ATTEMPTS else ()
        if len(proposed) > len(kept):
            return proposed
        more = self._copies.most_costly(2 ** max(0, attempt - ATTEMPTS), kept)
        return tuple(sorted((*kept, *more))) if more else self._everything

    def _unmeasured(self, allowed: float, reason: Exception) -> tuple[int, ...]:
        """What to keep if no device can run the model, with a warning."""
        judge = (
            "only estimated, by runs on LiteRT of copies of the model that round values to half "
            "precision"
            if self._copies
            else "unknown, and all operators stay in single precision"
        )
        text = f"keep_f32='auto': no device measured the error, which is {judge}: {reason}"
        tell(EstimateWarning(text))
        return self._copies.within(allowed) if self._copies else self._everything

    def _build(self, kept: tuple[int, ...]) -> CompiledModel:
        with told():  # what a trial warns of may be what the search mends
            return build(self._model, replace(self._options, keep_f32=kept))

    def _step(self) -> None:
        self._steps += 1
        self._progress("keep_f32", self._steps, self._steps + 1)

    def _measure(self, kept: tuple[int, ...]) -> float:
        """The error on the device if these operators are kept (DeviceError, PlanError)."""
        self._step()
        with scratch_folder() as cache:
            folder = write(self._build(kept) if kept else self._halved, cache)
            device = attached_device(self._options.device)
            with load(folder, device=device, store_binaries=False) as session:
                return max(
                    self._samples.error(number, list(session.run(arrays).values()))
                    for number, arrays in enumerate(self._samples.inputs)
                )
