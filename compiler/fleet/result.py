"""Results: what became of each task of a run.

manifest.json of a cache, or rows/ of a store, records a row of each:

{"format": 2, "variants": [{"model": "models/digits.tflite", "fingerprint": "8c0d...",
    "variant": "opencl-f32-mali-a20d7aa81cd8", "status": "compiled", "findings": [], ...}, ...]}
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import Annotated, Any, Literal

from ...runtime.errors import PlanError, TflgpuError
from ...runtime.typed_json import Form, typed
from ..devices.attached import choose_profile
from ..errors import Finding
from .tasks import Task

FORMAT = 2  # To be raised whenever the fields of a row change.


def _is_finding(item: Mapping[str, Any]) -> bool:
    typed(Finding, item)
    return True


@dataclass(frozen=True)
class Row:
    model: str  # The path of the model's file, as given.
    fingerprint: str
    target: str
    precision: str
    profile: str
    request: str  # What decided the variant; see `Task.request`.
    variant: str  # The variant's name; empty if there is none.
    # compiled; present (it was in the cache already, or is that of an equal model); or failed.
    status: str
    # Operators that cannot run on the device, as `Finding.as_dict` gives them.
    findings: tuple[Annotated[Mapping[str, Any], Form("finding", _is_finding)], ...]
    error: str
    # Of a failure that another attempt would only repeat: the version of LiteRT that had a say.
    # Empty for others, such as for want of memory.
    litert: str
    seconds: float  # Time of the compilation, whenever that was.
    bytes: int  # Of all files of the variant but binaries, which drivers made.
    stamp: str  # Of the variant's files when they were known to be whole; see `Kept.stamp`.
    time: float  # When this was recorded (Unix time).

    @property
    def key(self) -> tuple[str, str, str]:
        return self.model, self.fingerprint, self.request

    @property
    def column(self) -> tuple[str, str, str, str]:
        """What a user asked for, whatever the model's content and the other options were."""
        return self.model, self.target, self.precision, self.profile


def merged(rows: Iterable[Row], holds: Callable[[str, str], bool]) -> list[Row]:
    """Of the rows of each task the newest one, sorted, without those that are out of date.

    A row with a variant stays as long as `holds` says that the variant is there, by fingerprint and
    name; that of a failure until there is a newer row of the same column.
    """
    newest, last = {}, {}
    for row in sorted(rows, key=lambda row: row.time):
        newest[row.key] = last[row.column] = row
    return [
        row
        for _, row in sorted(newest.items())
        if (holds(row.fingerprint, row.variant) if row.variant else last[row.column] is row)
    ]


def to_bytes(rows: Iterable[Row]) -> bytes:
    found = {"format": FORMAT, "variants": [vars(row) for row in rows]}
    return f"{json.dumps(found, indent=1)}\n".encode()


def from_bytes(content: bytes, source: str) -> list[Row]:
    """The rows in a file, none if they are of an older format (PlanError, naming `source`)."""
    try:
        found = json.loads(content)
        version = found["format"]
        if version == FORMAT:
            return [typed(Row, item) for item in found["variants"]]
        if type(version) is int and version < FORMAT:
            return []  # what they record is found out again
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise PlanError(
            f"{source} is not a manifest of tflgpu: {error}; remove it, and the next run writes a "
            f"new one"
        ) from error
    raise PlanError(
        f"{source} has format {version!r}, this version of tflgpu reads {FORMAT}; use "
        f"another cache, or the version that wrote it"
    )


Status = Literal["compiled", "present", "failed"]


@dataclass(frozen=True)
class Result:
    task: Task
    # "compiled"; "present" if the variant was in the cache already, or is that of an equal model
    # that this run has compiled; or "failed".
    status: Status
    path: Path | str | None  # The variant's folder or, in a store, its URL; None if it failed.
    # Operators that run on LiteRT or, if it failed, cannot run; as `Finding.as_dict` has them.
    findings: tuple[Mapping[str, Any], ...]
    seconds: float  # Time of the compilation, whenever that was.
    bytes: int  # Of all files of the variant but binaries, which drivers made.
    stamp: str = ""  # Of the variant's files; see `Kept.stamp`.
    # The summary of a compilation of this run, as `tflgpu compile --json` prints it.
    report: Mapping[str, Any] | None = None
    # Whether no device measured what keep_f32=("auto",) keeps; if so, the next run tries again.
    estimated: bool = False
    error: Exception | None = None  # Why it failed; anything but a TflgpuError is a bug in tflgpu.
    # Of a failure that another attempt would only repeat: the version of LiteRT; else empty.
    litert: str = ""

    @property
    def variant(self) -> str:
        """The variant's name; empty if it failed."""
        return str(self.path).rpartition("/")[2] if self.path is not None else ""

    @property
    def row(self) -> Row:
        task, options = self.task, self.task.options
        return Row(
            model=str(task.model),
            fingerprint=task.fingerprint,
            target=options.target,
            precision=options.precision,
            profile=choose_profile(options.device, options.target).name,
            # An estimate answers whoever asks for these operators, but not for a search.
            request=self.variant if self.estimated else task.request,
            variant=self.variant,
            status=self.status,
            findings=self.findings,
            error=_text(self.error),
            litert=self.litert,
            seconds=round(self.seconds, 3),
            bytes=self.bytes,
            stamp=self.stamp,
            time=round(time(), 3),
        )


def _text(error: Exception | None) -> str:
    """An error as a row has it, those that are bugs with their type; "" for none."""
    if error is None or isinstance(error, TflgpuError):
        return str(error or "")
    return f"{type(error).__name__}: {error}"
