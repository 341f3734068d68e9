"""Why a model compiles to what it does: rewrites applied and declined, kernels, refusals."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..emit.lower import arranged
from ..errors import Finding, UnsupportedError
from ..events import Event, describe
from ..ir import Graph
from ..options import Options
from ..pipeline import Model, Observer, Progress, options_profile, suit
from ..select.storage import choose_storage, insert_conversions


@dataclass(frozen=True)
class KernelChoice:
    """The kernel an operator gets, and why others of its kernels were not suited."""

    operator: str
    kernel: str
    objections: tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """Everything the compiler decided about a model."""

    profile: str
    events: tuple[Event, ...]
    findings: tuple[Finding, ...]
    """Operators that cannot run; none are known to run where there is any."""
    kernels: tuple[KernelChoice, ...]
    fallback: tuple[Finding, ...] = ()
    """Operators that run on LiteRT instead."""

    def as_dict(self) -> dict[str, Any]:
        """As `tflgpu explain --json` prints it."""
        return {
            "profile": self.profile,
            "passes": [event.as_dict() for event in self.events],
            "findings": [finding.as_dict() for finding in self.findings],
            "kernels": [asdict(kernel) for kernel in self.kernels],
            "fallback": [finding.as_dict() for finding in self.fallback],
        }


def dump_to(folder: Path) -> Observer:
    """Writes the graph's text after each rewrite into a folder: 00_read.txt, 01_propagate.txt."""
    folder.mkdir(parents=True, exist_ok=True)

    def write(number: int, name: str, graph: Graph) -> None:
        (folder / f"{number:02}_{name}.txt").write_text(f"{graph}\n")

    return write


def explain(
    model: Model, options: Options, progress: Progress, dump: Path | None = None
) -> Explanation:
    """The decisions of a compilation, which ends before kernels are rendered.

    With `dump` the graph's text after each rewrite is written into that folder (OSError).
    Raises what `driver.build` raises, apart from UnsupportedError: its findings are in the result.
    """
    profile = options_profile(options)
    observe = dump_to(dump) if dump else lambda number, name, graph: None
    events: list[Event] = []
    try:
        ready = suit(model, options, profile, events, progress, observe)
    except UnsupportedError as error:
        return Explanation(profile.name, tuple(events), error.findings, ())
    suited = ready.candidates
    choice = choose_storage(ready.graph, suited, profile)
    kernels = tuple(
        KernelChoice(
            " + ".join((describe(op), *(f"{post.index} {post.name}" for post in op.post))),
            choice[op].name,
            tuple(f"{name}: {reason}" for name, reason in suited[op].objections),
        )
        for op in ready.graph.ops
    )
    storages = insert_conversions(ready.graph, choice, profile)
    progress("arrange", 0, 1)
    gaps = not options.keep_intermediates
    events += arranged(ready.graph, choice, storages, profile, share_memory=gaps).events
    return Explanation(profile.name, tuple(events), (), kernels, ready.fallback)
