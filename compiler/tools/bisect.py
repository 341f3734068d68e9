"""Which rewrite changed the numbers: compilations with ever fewer rewrites against LiteRT."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .. import pipeline
from ..litert.reference import Model
from ..options import Options
from ..rewrites import PIPELINE
from .compare import Feed, Verification, verify


@dataclass(frozen=True)
class Culprit:
    """What a bisection found."""

    rule: str | None
    """The first rewrite with which the model departs; None if it does without any."""
    runs: int
    """Compilations it took."""

    def __str__(self) -> str:
        if self.rule is None:
            return "it departs without optional rewrites, too: a kernel is at fault"
        return (
            f"the rewrite {self.rule} changes the numbers: without it and those after it the "
            f"model agrees (--disable-pass {self.rule})"
        )


def bisect(
    model: Model,
    options: Options,
    feed: Feed,
    progress: pipeline.Progress = pipeline.silent,
) -> Culprit | None:
    """Search for the rewrite with which a model begins to depart; None if it agrees with all.

    The optional rewrites are a sequence; with the first `good` of them the model agrees, with the
    first `bad` it does not. Raises what `verify` raises.
    """
    names = [each.name for each in PIPELINE if not each.required]
    optional = [name for name in names if name not in options.disable_passes]
    runs = 0

    def run(count: int) -> Verification:
        nonlocal runs
        runs += 1
        progress("bisect", runs, len(optional).bit_length() + 2)
        off = (*options.disable_passes, *optional[count:])
        return verify(model, replace(options, disable_passes=off), feed)

    if run(len(optional)).ok:
        return None
    if not run(0).ok:
        return Culprit(None, runs)
    good, bad = 0, len(optional)
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if run(middle).ok else (good, middle)
    return Culprit(optional[bad - 1], runs)
