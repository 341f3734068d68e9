"""What `tflgpu run` prints of a run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from ...runtime.launch.device import DeviceInfo
from ...runtime.plan.records import Plan, TensorInfo
from ..ir import Array
from ..pictures.outputs import Class
from ..tools.trace.events import TypeTime
from .printing import Answer, Column, Listing, operators_of
from .tracing import types_listing

SHOWN_RECORDS = 30  # Most things found in a picture that are printed.

PARTS = (
    Column("file", "part"),
    Column("operators", "operators", attrgetter("label"), operators_of),
)

CLASSES = (Column("label", "class"), Column("score", "score", text="{:.6g}", right=True))


@dataclass
class RunResult:
    device: DeviceInfo
    plan: Plan
    outputs: list[dict[str, Any]]
    classes: list[Class] = field(default_factory=list)
    probable: bool = False  # Whether the scores of classes are probabilities.
    kind: str = ""  # What the outputs show of the picture, such as boxes; empty for nothing.
    records: list[dict[str, Any]] = field(default_factory=list)
    nothing: str = ""  # What to say if they show it nowhere for certain; empty if they do.
    written: Path | None = None  # The file of --output.
    types: list[TypeTime] = field(default_factory=list)  # The time by operator type, with --trace.
    trace: Path | None = None  # The file of --trace.

    def answer(self) -> Answer:
        title = f"Outputs, computed on {computed_on(self.plan, self.device.name)}"
        litert = "Operators on LiteRT; `tflgpu explain MODEL --fallback litert` says why"
        ranked = "Most probable" if self.probable else "Highest scores, which are no probabilities"
        outputs = _records(title, self.outputs)
        parts = Listing(litert, PARTS, self.plan.parts)
        classes = Listing(ranked, CLASSES, self.classes)
        return Answer(
            {
                "device": computed_on(self.plan, str(self.device)),
                "fallback": parts,
                "outputs": self.outputs,
                "classes": self.classes,
                "shown": {"kind": self.kind, "found": self.records} if self.kind else None,
                "output": self.written,
                "types": self.types,
                "trace": self.trace,
            },
            [
                *(outputs, parts, classes, *self._shown(), types_listing(self.types)),
                *(str(path) for path in (self.written, self.trace) if path is not None),
            ],
        )

    def _shown(self) -> Iterator[Listing | str]:
        if self.kind and self.nothing:
            yield self.nothing
        if self.kind:
            shown = self.records[:SHOWN_RECORDS]
            title = f"Found: {self.kind}"
            if len(shown) < len(self.records):
                title += f", the first {len(shown)} of {len(self.records)}; --json prints all"
            yield _records(title, shown)


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


def _records(title: str, records: Sequence[Mapping[str, Any]]) -> Listing:
    """Records with the same members, of which numbers are right-aligned."""
    columns = [
        Column("", name, text=partial(_cell, name), right=not isinstance(value, (str, list)))
        for name, value in (records[0] if records else {}).items()
    ]
    return Listing(title, columns, records)


def _cell(name: str, record: Mapping[str, Any]) -> str:
    value = record[name]
    return f"{value:.6g}" if isinstance(value, float) else str(value)
