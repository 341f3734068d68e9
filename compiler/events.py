"""Events: each rewrite or view that was applied or declined, and why, for `tflgpu explain`."""

from dataclasses import dataclass

from .ir import Op


@dataclass(frozen=True)
class Event:
    """One attempt at a rewrite or a view."""

    rewrite: str  # Its name, as `--disable-pass` takes it; `place_views` of a view.
    operators: tuple[str, ...]
    reason: str | None  # Why it was declined; None if it was applied.

    def as_dict(self) -> dict[str, object]:
        """The event as `--json` prints it."""
        return {
            "pass": self.rewrite,
            "applied": self.reason is None,
            "operators": list(self.operators),
            "reason": self.reason or "",
        }


def describe(op: Op) -> str:
    """Index and name of an operator, for events."""
    return f"{op.index} {op.name}"
