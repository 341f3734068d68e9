"""What can go wrong while a model is compiled. All are `tflgpu.runtime.errors.TflgpuError`s."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from ..runtime.errors import TflgpuError


class ModelError(TflgpuError, ValueError):
    """The file is not a model we can read; the text names the file's place: operator or tensor.

    Raised by the reader and by shape inference. Usually the download was cut short, the file is
    not a .tflite, or a shape has to be given (`--input-shape`).
    """


class OptionError(TflgpuError, ValueError):
    """An option has a value that does not exist, or two options contradict each other."""


@dataclass(frozen=True)
class Finding:
    """One reason why one operator cannot run on the device."""

    index: int
    """Position of the operator in the model file."""
    operator: str
    """Its TFLite name, such as CONV_2D."""
    reason: str
    """The rule it breaks."""
    advice: str = ""
    """What would help, if anything does."""

    def __str__(self) -> str:
        advice = f" ({self.advice})" if self.advice else ""
        return f"operator {self.index} {self.operator}: {self.reason}{advice}"

    def as_dict(self) -> dict[str, str | int]:
        return asdict(self)


class UnsupportedError(TflgpuError):
    """The model holds operators that cannot run on the device; `findings` lists all of them."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        lines = "\n".join(f"  {finding}" for finding in self.findings)
        count = len(self.findings)
        super().__init__(f"{count} operator{'s' * (count > 1)} cannot run on the device:\n{lines}")


class FallbackWarning(UserWarning):
    """Operators run on LiteRT instead of the device; the text lists them, and why."""


class PassError(TflgpuError):
    """A rewrite left the graph broken: a bug in tflgpu. The text names rewrite and graph."""


class RenderError(TflgpuError):
    """A kernel template failed to render: a bug in tflgpu. The text names template and line."""
