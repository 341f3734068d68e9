"""What compiler stages report about each rewrite and each copy: applied, or declined and why."""

from __future__ import annotations

from dataclasses import dataclass

from .ir import Op


@dataclass(frozen=True)
class Event:
    """One rewrite applied or declined."""

    rule: str
    operators: tuple[str, ...]
    """Position and name of each operator matched."""
    reason: str | None
    """Why it was declined; None if it was applied."""

    def as_dict(self) -> dict[str, object]:
        """The event as `--json` prints it."""
        return {
            "pass": self.rule,
            "applied": self.reason is None,
            "operators": list(self.operators),
            "reason": self.reason or "",
        }


def describe(op: Op) -> str:
    """Position and name of an operator, for events."""
    return f"{op.index} {op.name}"
