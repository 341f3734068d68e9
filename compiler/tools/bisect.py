"""Bisection: finds the rewrite that changes a model's results, by compiling with fewer rewrites."""

from contextlib import suppress
from dataclasses import dataclass, replace

from ..errors import ModelError
from ..frontend.model_file import Model
from ..options import Options
from ..rewrites import PIPELINE
from ..telling import Progress, silent
from .compare import Feed, Litert, Verification, verify_against
from .comparison import Comparison


@dataclass(frozen=True)
class Culprit:
    # The first rewrite with which the results differ; None if they differ without any.
    rewrite: str | None
    runs: int  # Number of compilations.
    # The first tensor that differs without any optional rewrite, if LiteRT shows it.
    departure: Comparison | None = None

    def __str__(self) -> str:
        if self.rewrite is None:
            also = "the results also differ without optional rewrites"
            if self.departure is None:
                return f"{also}: a kernel or a required rewrite is at fault"
            return f"{also}; the first tensor: {self.departure} ({self.departure.label})"
        return (
            f"the rewrite {self.rewrite} changes the results: without it and the rewrites after it "
            f"they agree (--disable-pass {self.rewrite})"
        )


def bisect(
    model: Model, options: Options, feed: Feed, progress: Progress = silent
) -> Culprit | None:
    """The first rewrite with which results differ from LiteRT's, or None. Raises as `verify`."""
    names = [each.name for each in PIPELINE if not each.required]
    optional = [name for name in names if name not in options.disable_passes]
    litert = Litert(model, options, feed)
    runs = 0

    def run(count: int, layers: bool = False) -> Verification:
        nonlocal runs
        runs += 1
        progress("bisect", runs, len(optional).bit_length() + 3)
        off = (*options.disable_passes, *optional[count:])
        fewer = replace(options, disable_passes=off)
        return verify_against(litert, model, fewer, layers)

    if run(len(optional)).ok:
        return None
    if not run(0).ok:
        with suppress(ModelError):  # LiteRT may not show the tensors of every model
            return Culprit(None, runs, run(0, layers=True).departure)
        return Culprit(None, runs)
    # With the first `good` rewrites the results agree, with the first `bad` they differ.
    good, bad = 0, len(optional)
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if run(middle).ok else (good, middle)
    return Culprit(optional[bad - 1], runs)
