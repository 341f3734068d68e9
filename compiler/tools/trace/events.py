"""Events with a start and a duration, and the file that Perfetto opens.

The file is in the JSON format of Chrome's Trace Event Format (https://perfetto.dev/docs/
getting-started/other-formats#chrome-json-format): complete events ("ph": "X") with times in
microseconds, in threads of one process, which metadata events ("ph": "M") name.

A summary has the time of each operator type: its share of a run, and how often it is launched.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from ...telling import Progress

PROCESS = 1
# What events are shown in, from top to bottom; each is a thread of the process.
TRACKS = ("compiler", "session", "device", "LiteRT")


@dataclass(frozen=True)
class Event:
    track: str  # One of TRACKS; the events of a track lie after or inside one another.
    name: str
    start: float  # Seconds since the trace began.
    seconds: float
    # What Perfetto shows of the event when it is selected.
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def end(self) -> float:
        """Seconds since the trace began."""
        return self.start + self.seconds


class Trace:
    """The events recorded so far."""

    def __init__(self) -> None:
        self._began = perf_counter()
        self.events: list[Event] = []
        self._stage: tuple[str, float] | None = None

    def now(self) -> float:
        """Seconds since the trace began."""
        return perf_counter() - self._began

    @contextmanager
    def span(self, name: str, track: str = "session", **details: Any) -> Iterator[None]:
        """Record the block as an event, unless it raises."""
        start = self.now()
        yield
        self.events.append(Event(track, name, start, self.now() - start, details))

    def stages(self, progress: Progress) -> Progress:
        """A progress that also records each stage of the compiler, until `end_stage`."""

        def show(stage: str, done: int, total: int) -> None:
            if self._stage is None or self._stage[0] != stage:
                self.end_stage()
                self._stage = (stage, self.now())
            progress(stage, done, total)

        return show

    def end_stage(self) -> None:
        """End the stage of the compiler that is under way."""
        if self._stage is not None:
            name, start = self._stage
            self.events.append(Event("compiler", name, start, self.now() - start))
            self._stage = None

    def as_json(self, title: str) -> str:
        """The content of the file, with `title` as the name of the process."""
        names = [_naming("process_name", 0, title)]
        names += [_naming("thread_name", number, name) for number, name in enumerate(TRACKS, 1)]
        events = [
            {
                "name": event.name,
                "cat": event.track,
                "ph": "X",
                "ts": round(event.start * 1e6, 3),
                "dur": round(event.seconds * 1e6, 3),
                "pid": PROCESS,
                "tid": TRACKS.index(event.track) + 1,
                "args": event.details,
            }
            for event in sorted(self.events, key=lambda event: (event.start, -event.seconds))
        ]
        # Without displayTimeUnit: some versions of Perfetto take it for the unit of all times.
        return json.dumps({"traceEvents": [*names, *events]})


def _naming(what: str, thread: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": PROCESS, "tid": thread, "args": {"name": name}}


# The beginning of the names of operators that rewrites make; they go with those beside them.
OWN = "tflgpu."

FEW = 4  # Operators of a combination that are named.


@dataclass(frozen=True)
class TypeTime:
    """The launches of one operator type, or of one combination that a kernel computes."""

    operators: str  # Such as CONV_2D + ADD.
    place: str  # device or LiteRT.
    count: int
    seconds: float
    share: float  # Of the time of all kernels and parts.


def by_type(timed: Iterable[tuple[str, str, float]]) -> list[TypeTime]:
    """The time by operator type, the longest first, of (place, label, seconds) of each launch."""
    groups: dict[tuple[str, str], list[float]] = {}
    for place, label, seconds in timed:
        groups.setdefault((_operators(label), place), []).append(seconds)
    total = sum(map(sum, groups.values())) or 1.0
    rows = [
        TypeTime(operators, place, len(times), sum(times), sum(times) / total)
        for (operators, place), times in groups.items()
    ]
    return sorted(rows, key=lambda row: -row.seconds)


def timed(events: Iterable[Event]) -> Iterable[tuple[str, str, float]]:
    """(place, label, seconds) of the kernels and parts in a trace."""
    for event in events:
        if event.track in ("device", "LiteRT"):
            yield event.track, event.name, event.seconds


def _operators(label: str) -> str:
    """The operators of a dispatch's label, without the tensor that it computes."""
    names = label.partition(" -> ")[0].split(" + ")
    named = [name for name in names if not name.startswith(OWN)] or names
    more = [f"{len(named) - FEW} more"] if len(named) > FEW + 1 else named[FEW:]
    return " + ".join([*named[:FEW], *more])
