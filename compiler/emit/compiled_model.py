"""What a compilation makes, before it is written into a cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...runtime.plan.records import Plan
from ..errors import Finding
from ..events import Event

MAX_NAMED = 10
"""Operators that a warning names one by one."""


@dataclass(frozen=True)
class CompiledModel:
    """A compiled model in memory: all that goes into a folder of the cache."""

    plan: Plan
    sources: Mapping[str, str]
    """The texts of kernels by file."""
    weights: bytes
    companions: Mapping[str, bytes]
    """Files made from the sources, such as SPIR-V, and the models of parts on LiteRT."""
    events: tuple[Event, ...]
    """What rewrites and views have done, and declined."""
    fallback: tuple[Finding, ...]
    """Operators that run on LiteRT instead of the device."""
    operators: int
    """Operators in the model file."""
    tuned: int
    """Different kernels whose sizes the tuning table gave."""

    @property
    def report(self) -> dict[str, Any]:
        """The figures of the summary, as `tflgpu compile --json` prints them."""
        memory = self.plan.memory
        return {
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
            "memory": {
                "naive": memory.naive,
                "planned": memory.planned,
                "lower_bound": memory.lower_bound,
            },
            "fallback": [
                {**item.as_dict(), "part": part.file}
                for part in self.plan.parts
                for item in self.fallback
                if item.index in part.operators
            ],
            "passes": [event.as_dict() for event in self.events],
        }


def fallback_text(entries: Sequence[Mapping[str, Any]]) -> str:
    """Which operators run on LiteRT, and why, from what a compiled model's report says."""
    lines = [
        f"\n  operator {item['index']} {item['operator']} ({item['part']}): {item['reason']}"
        for item in entries
    ]
    # A line that says there is one more would take the place of that one.
    if len(lines) > MAX_NAMED + 1:
        lines[MAX_NAMED:] = [
            f"\n  and {len(lines) - MAX_NAMED} more, which `tflgpu explain` lists"
        ]
    count = f"{len(entries)} operator{'s run' if len(entries) > 1 else ' runs'}"
    return f"{count} on LiteRT, not on the device:{''.join(lines)}"
