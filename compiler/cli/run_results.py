"""What `tflgpu run` prints of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click
import numpy as np

from ...runtime.launch.device import DeviceInfo
from ...runtime.plan.records import Plan, TensorInfo
from ..ir import Array
from ..pictures.classes import Class
from ..tools.trace.summary import TypeTime
from .printing import operators_of, print_json, print_table
from .tracing import print_types

SHOWN_RECORDS = 30
"""Most things found in a picture that are printed."""


@dataclass
class RunResult:
    """The results of a run, in words."""

    device: DeviceInfo
    plan: Plan
    outputs: list[dict[str, Any]]
    classes: list[Class] = field(default_factory=list)
    probable: bool = False
    """Whether the scores of classes are probabilities."""
    kind: str = ""
    """What the outputs show of the picture, such as boxes; empty for nothing."""
    records: list[dict[str, Any]] = field(default_factory=list)
    nothing: str = ""
    """What to say if they show it nowhere for certain; empty if they do."""
    written: Path | None = None
    """The file of --output."""
    types: list[TypeTime] = field(default_factory=list)
    """The time by operator type, with --trace."""
    trace: Path | None = None
    """The file of --trace."""

    def print(self, as_json: bool) -> None:
        """Print them as tables or as JSON."""
        if as_json:
            print_json(self._as_dict())
            return
        numbers = ("min", "mean", "max")
        _print_records(
            f"Outputs, computed on {computed_on(self.plan, self.device.name)}",
            self.outputs,
            numbers,
        )
        print_table(
            "Operators on LiteRT; `tflgpu explain MODEL --fallback litert` says why",
            ("part", "operators"),
            [(part.file, operators_of(part)) for part in self.plan.parts],
        )
        rows = [(item.label, f"{item.score:.6g}") for item in self.classes]
        title = "Most probable" if self.probable else "Highest scores, which are no probabilities"
        print_table(title, ("class", "score"), rows, right=("score",))
        self._print_shown()
        print_types(self.types)
        for path in (self.written, self.trace):
            if path is not None:
                click.echo(path)

    def _print_shown(self) -> None:
        if not self.kind:
            return
        if self.nothing:
            click.echo(self.nothing)
        shown = self.records[:SHOWN_RECORDS]
        title = f"Found: {self.kind}"
        if len(shown) < len(self.records):
            title += f", the first {len(shown)} of {len(self.records)}; --json prints all"
        right = [name for name in (shown[0] if shown else ()) if type(shown[0][name]) is not str]
        _print_records(title, shown, right)

    def _as_dict(self) -> dict[str, Any]:
        return {
            "device": computed_on(self.plan, str(self.device)),
            "fallback": [{"file": part.file, "operators": part.label} for part in self.plan.parts],
            "outputs": self.outputs,
            "classes": [asdict(item) for item in self.classes],
            "shown": {"kind": self.kind, "found": self.records} if self.kind else None,
            "output": self.written,
            "types": [asdict(row) for row in self.types],
            "trace": self.trace,
        }


def computed_on(plan: Plan, device: str) -> str:
    """What runs a plan: the device, LiteRT, or both."""
    places = [device] if plan.dispatches else []
    return " and ".join(places + ["LiteRT"] * bool(plan.parts)) or device


def summary(info: TensorInfo, array: Array) -> dict[str, Any]:
    """The form of an output, and the range of its values: NaN for strings and for no values."""
    numbers = array.size and info.dtype != "string"
    values = array.astype(np.float64) if numbers else np.array([np.nan])
    return {
        "name": info.name,
        "dtype": info.dtype,
        "shape": list(info.shape),
        "min": values.min(),
        "mean": values.mean(),
        "max": values.max(),
    }


def _print_records(
    title: str, records: Sequence[dict[str, Any]], right: Sequence[str] = ()
) -> None:
    if records:
        rows = [tuple(map(_cell, record.values())) for record in records]
        print_table(title, tuple(records[0]), rows, right)


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
