"""What a plan notes of its compilation, and what is worked out again for the report.

Options and rewrites are in the plan. The graph in the model file and the choices of implementations
are not, since the runtime needs neither. With the model file they follow from the options, up to
the choice of implementations.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from ...runtime.errors import PlanError, TflgpuError
from ...runtime.plan.records import Plan
from ..choices import each_choice
from ..errors import Finding, UnsupportedError
from ..frontend.model_file import Model
from ..frontend.reader import read
from ..options import Options
from ..telling import Progress, silent
from ..tools.explain import ImplementationChoice, explain
from ..version import compiler_version
from .graphs import FileGraph, file_graph

EVENT = {"pass", "applied", "operators", "reason"}  # Fields of each rewrite in a plan.


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


@dataclass(frozen=True)
class Decisions:
    graph: FileGraph
    # By the indices in the model file of the operators that a kernel computes.
    chosen: dict[tuple[int, ...], list[ImplementationChoice]]
    fallback: dict[int, Finding]  # Why operators run on LiteRT, by their index.
    # Why some of this may differ from what was compiled, or is missing; "" if nothing does.
    note: str = ""


def decide(model: Model, plan: Plan, progress: Progress = silent) -> Decisions:
    """The decisions about the model that a plan was compiled from.

    Raises what reading a model raises. If the choices cannot be worked out, as with a device
    profile that is not here, only the graph is returned, with a note.
    """
    options, *_ = each_choice(model, _options(plan))
    graph = file_graph(read(model, dict(options.input_shapes), options.signature_key or None))
    try:
        found = explain(model, options, progress)
        if found.findings:
            raise UnsupportedError(found.findings)
    except TflgpuError as error:
        reason = str(error).splitlines()[0]
        return Decisions(graph, {}, {}, f"Why kernels were chosen cannot be told: {reason}")
    version = compiler_version()
    note = (
        f"The model was compiled by tflgpu {plan.compiler}; the reasons are those of {version}."
        if plan.compiler != version
        else ""
    )
    fallback = {item.index: item for item in found.fallback}
    return Decisions(graph, _grouped(found.choices), fallback, note)


def _options(plan: Plan) -> Options:
    """The options in a plan; its tuning table's digest stands for no file."""
    known = {item.name for item in fields(Options)} - {"tuning"}
    noted = options_of(plan)
    return Options(**{name: _tuples(noted[name]) for name in known & noted.keys()})


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _grouped(
    chosen: Sequence[ImplementationChoice],
) -> dict[tuple[int, ...], list[ImplementationChoice]]:
    """The choices by the indices of their operators, equal ones once."""
    found: dict[tuple[int, ...], list[ImplementationChoice]] = {}
    for choice in chosen:
        choices = found.setdefault(tuple(origin.index for origin in choice.operators), [])
        if all(choice.implementation != item.implementation for item in choices):
            choices.append(choice)
    return found
