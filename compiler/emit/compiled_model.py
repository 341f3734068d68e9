"""The result of a compilation of each choice, before it is written into a cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...runtime.plan.records import Plan
from ..errors import Finding
from ..events import Event

MAX_NAMED = 10  # Most operators that a warning lists.


@dataclass(frozen=True)
class CompiledModel:
    """A compiled model in memory: everything that goes into its folder of the cache."""

    plan: Plan
    sources: Mapping[str, str]
    weights: memoryview
    # Files made from the sources, such as SPIR-V, and the models of parts on LiteRT, by file.
    companions: Mapping[str, bytes]
    events: tuple[Event, ...]  # Rewrites and views applied and declined.
    fallback: tuple[Finding, ...]  # Operators that run on LiteRT instead of the device.
    operators: int  # Number of operators in the model file.
    tuned: int  # Number of distinct kernels with sizes from the tuning table.
    # The model for its other choices of input shapes, on the same weights.
    specializations: tuple[CompiledModel, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled for other processes, which memory views cannot be."""
        return {**vars(self), "weights": bytes(self.weights)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, weights=memoryview(state["weights"]))

    @property
    def report(self) -> dict[str, Any]:
        """The summary that `tflgpu compile --json` prints."""
        others = [each.report for each in self.specializations]
        return {
            "inputs": {info.name: list(info.shape) for info in self.plan.inputs},
            "operators": self.operators,
            "kernels": len(self.plan.dispatches),
            "launches": self.plan.launches,
            "flops": sum(dispatch.flops for dispatch in self.plan.dispatches),
            "bytes_moved": sum(
                argument.size
                for dispatch in self.plan.dispatches
                for argument in dispatch.arguments
            ),
            "tuned": self.tuned,
            "memory": asdict(self.plan.memory),
            "fallback": [
                {**item.as_dict(), "part": part.file}
                for part in self.plan.parts
                for item in self.fallback
                if item.index in part.operators
            ],
            "passes": [event.as_dict() for event in self.events],
            **({"specializations": others} if others else {}),
        }


def fallback_texts(report: Mapping[str, Any]) -> list[str]:
    """The texts of FallbackWarnings of a report, which may differ by the input shapes."""
    found = [each["fallback"] for each in (report, *report.get("specializations", ()))]
    return list(dict.fromkeys(fallback_text(entries) for entries in found if entries))


def fallback_text(entries: Sequence[Mapping[str, Any]]) -> str:
    """The text of a FallbackWarning, from the entries under "fallback" of a report."""
    lines = [
        f"\n  operator {item['index']} {item['operator']} ({item['part']}): {item['reason']}"
        for item in entries
    ]
    # If there is just one more, its line takes no more room than a line that says so.
    if len(lines) > MAX_NAMED + 1:
        lines[MAX_NAMED:] = [
            f"\n  and {len(lines) - MAX_NAMED} more; `tflgpu explain` lists all of them"
        ]
    count = f"{len(entries)} operator{'s run' if len(entries) > 1 else ' runs'}"
    return f"{count} on LiteRT, not on the device:{''.join(lines)}"
