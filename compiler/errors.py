"""The errors of compilation, all of them `tflgpu.runtime.errors.TflgpuError`, and its warning."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from ..runtime.errors import TflgpuError, TflgpuWarning


class ModelError(TflgpuError, ValueError):
    """The model cannot be read or is invalid; the message names the operator or tensor at fault.

    Raised by the reader and by shape inference. Usually the download was incomplete, the file is
    not a .tflite model, or an input shape must be given (`--input-shape`).
    """


class ModelFileError(ModelError):
    """The model's file cannot be read, or changed meanwhile; the model itself may be valid."""


class OptionError(TflgpuError, ValueError):
    """An option has an invalid value, or two options contradict each other."""


# The advice for an operator that nothing here can compute.
OWN_FUNCTION = "compute it with a function of your own: custom_ops, --custom-op"

# The advice of a `Finding` if nothing about the operator can be changed.
SPLIT = "split the model before it and run the rest elsewhere"

MAX_LISTED = 10  # Operators that an error names by their positions, of those with one cause.


@dataclass(frozen=True)
class Finding:
    """Why one operator cannot run on the device."""

    index: int  # Position of the operator in the model file.
    operator: str  # Its TFLite name, such as CONV_2D.
    reason: str
    advice: str = ""  # What to do about it; "" if nothing helps.
    # Whether LiteRT accesses memory beyond its tensors, so that it must not run there either.
    unsafe: bool = False

    def __str__(self) -> str:
        return f"operator {self.index} {_cause(self)}"

    def as_dict(self) -> dict[str, str | int]:
        """Its position, name, reason and advice, by these words."""
        fields = asdict(self)
        del fields["unsafe"]
        return fields


class UnsupportedError(TflgpuError):
    """The model has operators that cannot run on the device; `findings` lists all of them."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        indices: dict[str, list[int]] = {}
        for finding in self.findings:
            indices.setdefault(_cause(finding), []).append(finding.index)
        lines = "\n".join(f"  {_listed(found)} {cause}" for cause, found in indices.items())
        count = len(self.findings)
        super().__init__(f"{count} operator{'s' * (count > 1)} cannot run on the device:\n{lines}")


def _cause(finding: Finding) -> str:
    advice = f" ({finding.advice})" if finding.advice else ""
    return f"{finding.operator}: {finding.reason}{advice}"


def _listed(indices: Sequence[int]) -> str:
    """The operators at these positions, as words; of many, the first ones and their number."""
    if len(indices) == 1:
        return f"operator {indices[0]}"
    shown = MAX_LISTED if len(indices) > MAX_LISTED + 1 else len(indices) - 1
    rest = len(indices) - shown
    last = f"{rest} more" if rest > 1 else indices[-1]
    return f"operators {', '.join(map(str, indices[:shown]))} and {last}"


class UnfitKernelError(UnsupportedError):
    """Kernels do not fit the device, which is known once they are generated.

    `findings` has the first reason for each operator, in the order of the model file.
    """

    def __init__(self, findings: Sequence[Finding]) -> None:
        first = {finding.index: finding for finding in reversed(findings)}
        super().__init__([first[index] for index in sorted(first)])


class WorkerError(TflgpuError, RuntimeError):
    """Workers cannot do what they were asked to: there are none, or they are unfit or gone.

    The text names the scheduler or the worker.
    """


class FallbackWarning(TflgpuWarning):
    """Operators run on LiteRT instead of the device; the message lists them with the reasons."""


class EstimateWarning(TflgpuWarning):
    """No device measured what keep_f32="auto" has to keep; with one, that may be something else."""


class PassError(TflgpuError):
    """A rewrite left the graph invalid: a bug in tflgpu. The message names the rewrite."""


class RenderError(TflgpuError):
    """A kernel template failed to render: a bug in tflgpu. The message names template and line."""
