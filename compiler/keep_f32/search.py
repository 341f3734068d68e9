"""The search: measures on the device, and finds what to keep by copies of the model.

Half precision loses most where a value is a small difference of large ones, or where many roundings
add up, and what is lost early may not matter at the outputs. So it is there that it is measured.

By copies, operators are tried in groups that follow each other: most lose little, and a group that
loses little need not be divided. A model of 300 operators takes tens of trials so, not hundreds.
"""

from collections.abc import Collection, Sequence
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
from .losses import Losses
from .samples import Samples

# Share of what may be lost in all that a group of operators may lose without being divided.
LITTLE = 0.125


class Fewest:
    """Finds operators, named by their indices."""

    def __init__(self, losses: Losses, allowed: float) -> None:
        """`allowed` is the error that the outputs may have."""
        self._losses, self._little = losses, LITTLE * allowed

    def within(self, tolerance: float) -> tuple[int, ...]:
        """Operators with which all samples are within the tolerance; none can be left out."""
        if self._losses.suffices((), tolerance):
            return ()
        ranked = self._ranked
        few, enough = 0, len(ranked)
        while enough - few > 1:
            middle = (few + enough) // 2
            few, enough = (
                (few, middle)
                if self._losses.suffices(ranked[:middle], tolerance)
                else (middle, enough)
            )
        kept = ranked[:enough]
        return tuple(sorted(self._without(kept, kept, tolerance)))

    def most_costly(self, count: int, others: Collection[int]) -> list[int]:
        """So many operators that lose most, beside others."""
        return [op for op in self._ranked if op not in others][:count]

    @cached_property
    def _ranked(self) -> list[int]:
        """All operators, those first that lose most if they alone are rounded."""
        losses: dict[int, float] = {}
        groups: list[Sequence[int]] = [self._losses.operators]
        while groups:
            group = groups.pop()
            loss = self._losses.of_rounding(group)
            if len(group) < 2 or loss <= self._little:
                losses |= {op: loss / len(group) for op in group}
            else:
                groups += _halves(group)
        return sorted(losses, key=lambda op: -losses[op])

    def _without(self, kept: list[int], group: Sequence[int], tolerance: float) -> list[int]:
        """What is kept, less those of a group that can be left out; the last ones first."""
        others = [op for op in kept if op not in group]
        if self._losses.suffices(others, tolerance):
            return others
        if len(group) > 1:
            first, last = _halves(group)
            kept = self._without(kept, last, tolerance)
            kept = self._without(kept, first, tolerance)
        return kept


def _halves(group: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    middle = len(group) // 2
    return group[:middle], group[middle:]


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
