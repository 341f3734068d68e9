"""Results: what became of each task of a run."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import Any, Literal

from ...runtime.errors import TflgpuError
from ..devices.attached import choose_profile
from .row import Row
from .tasks import Task

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
