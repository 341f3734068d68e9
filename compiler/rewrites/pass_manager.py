"""Runs passes on a graph: leaves out those that are disabled, and keeps what they report."""

from collections.abc import Callable, Sequence
from itertools import count

from ..errors import OptionError
from ..events import Event
from ..ir import Graph
from ..target import Target
from ..telling import Progress, silent
from . import PIPELINE
from .rewrite import Pass, check

# Called with "read" or the name of a pass, and the graph after it.
Observer = Callable[[str, Graph], None]


def unobserved(stage: str, graph: Graph) -> None:
    """An `Observer` that does nothing."""


class PassManager:
    """Runs the passes of one compilation."""

    def __init__(
        self,
        target: Target,
        disabled: Sequence[str] = (),
        progress: Progress = silent,
        observe: Observer = unobserved,
    ) -> None:
        """OptionError for a disabled pass that does not exist or that later stages require."""
        known = {each.name: each for each in PIPELINE}
        for name in disabled:
            if name not in known:
                raise OptionError(f"no pass {name!r}; choose one of {', '.join(known)}")
            if known[name].required:
                raise OptionError(f"the pass {name} cannot be left out: later stages rely on it")
        self.progress, self.observe = progress, observe
        self.events: list[Event] = []  # Rewrites applied and declined so far.
        self._target, self._disabled, self._numbers = target, disabled, count()

    def run(self, graph: Graph, passes: Sequence[Pass]) -> None:
        """Rewrite a graph in place (PassError if it is invalid then: a bug in tflgpu)."""
        for each in passes:
            self.progress("rewrite", next(self._numbers), len(PIPELINE))
            if each.name not in self._disabled:
                found = each(graph, self._target)
                self.events.extend(found)
                # What it does not report is found at the end at the latest.
                check(graph, each.name, everything=bool(found) or each is passes[-1])
            self.observe(each.name, graph)
