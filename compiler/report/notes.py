"""What a plan notes for display about its compilation: options and rewrites."""

from __future__ import annotations

import json
from typing import Any

from ...runtime.errors import PlanError
from ...runtime.plan.records import Plan

EVENT = {"pass", "applied", "operators", "reason"}
"""Fields of each rewrite in a plan."""


def options_of(plan: Plan) -> dict[str, Any]:
    """The options that the plan was compiled with (PlanError)."""
    value = _notes(plan, "options")
    if not isinstance(value, dict):
        raise PlanError("the plan's options are not an object; compile the model again")
    return value


def rewrites_of(plan: Plan) -> list[dict[str, Any]]:
    """The rewrites applied and declined, in order, with their operators' indices (PlanError)."""
    value = _notes(plan, "passes")
    if not isinstance(value, list) or not all(
        isinstance(item, dict) and item.keys() >= EVENT for item in value
    ):
        raise PlanError("the plan's passes are not a list of events; compile the model again")
    return [{**item, "indices": _indices(item["operators"])} for item in value]


def _indices(operators: object) -> list[int]:
    """The positions in the model file of operators given as in `events.describe` (PlanError)."""
    try:
        return [int(text.split(" ", 1)[0]) for text in operators]  # type: ignore[attr-defined]
    except (ValueError, TypeError, AttributeError) as error:
        raise PlanError("a rewrite in the plan names no operators; compile the model again") from (
            error
        )


def _notes(plan: Plan, field: str) -> Any:
    """The content of a field that holds JSON (PlanError if it does not)."""
    try:
        return json.loads(getattr(plan, field))
    except ValueError as error:
        raise PlanError(f"the plan's {field} are not JSON; compile the model again") from error
