"""What does not work here."""

from __future__ import annotations

from ..frozen import dataclass


@dataclass(frozen=True)
class Unusable:
    """A device that does not work, or a driver that does not come as far as to list its devices."""

    name: str
    target: str
    """The language of the kernels that it would run."""
    reason: str
    """What happened when it was tried."""
    advice: str
    """What to do."""

    def __str__(self) -> str:
        return (
            f"{self.name} cannot be used: {self.reason}\n{self.advice}; `tflgpu doctor` tries it "
            "again"
        )
