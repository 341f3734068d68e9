"""The report of `tflgpu inspect --html`: a compiled model as a self-contained HTML page."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers.c_cpp import CLexer
from pygments.lexers.graphics import GLShaderLexer
from rich.filesize import decimal

from ...runtime.errors import PlanError
from ...runtime.plan.records import PlacedTensor, Plan, Region
from ...runtime.plan.storage import storage_of
from ...runtime.store.variant import Variant
from .memory_map import memory_map

TEMPLATE = "report.html.jinja"
EVENT = {"pass", "applied", "operators", "reason"}
"""Fields of each event in a plan."""


def report(variant: Variant) -> str:
    """The HTML page: options, rewrites, kernels with sources, dispatches, tensors and memory.

    PlanError if the plan's options or events are malformed.
    """
    plan = variant.plan
    events = _events(plan)
    return _template().render(
        plan=plan,
        options=_options(plan),
        applied=[event for event in events if event["applied"]],
        declined=[event for event in events if not event["applied"]],
        kernels=_kernels(variant),
        dispatches=[_dispatch(plan, index) for index in range(len(plan.dispatches))],
        tensors=[
            _tensor(plan, tensor)
            for tensor in sorted(plan.tensors, key=lambda tensor: (tensor.first, tensor.offset))
        ],
        operations=sum(dispatch.flops for dispatch in plan.dispatches),
        map=memory_map(plan),
        styles={"light": _style("default"), "dark": _style("monokai")},
    )


@cache
def _template() -> jinja2.Template:
    text = files(__package__).joinpath(TEMPLATE).read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["bytes"] = decimal
    return environment.from_string(text)


def _options(plan: Plan) -> dict[str, Any]:
    """The options that the plan was compiled with (PlanError)."""
    value = _notes(plan, "options")
    if not isinstance(value, dict):
        raise PlanError("the plan's options are not an object; compile the model again")
    return value


def _events(plan: Plan) -> list[dict[str, Any]]:
    """The events of the plan's compilation (PlanError)."""
    value = _notes(plan, "passes")
    if not isinstance(value, list) or not all(
        isinstance(item, dict) and item.keys() >= EVENT for item in value
    ):
        raise PlanError("the plan's passes are not a list of events; compile the model again")
    return value


def _notes(plan: Plan, field: str) -> Any:
    """The content of a field that holds JSON (PlanError if it does not)."""
    try:
        return json.loads(getattr(plan, field))
    except ValueError as error:
        raise PlanError(f"the plan's {field} are not JSON; compile the model again") from error


def _style(name: str) -> str:
    return str(HtmlFormatter(style=name).get_style_defs(".source"))


def _kernels(variant: Variant) -> list[dict[str, Any]]:
    plan = variant.plan
    lexer = CLexer() if plan.target == "opencl" else GLShaderLexer()
    formatter = HtmlFormatter(cssclass="source")
    users: dict[int, list[int]] = {}
    for index, dispatch in enumerate(plan.dispatches):
        users.setdefault(dispatch.kernel, []).append(index)
    for record in plan.persistent:
        users[record.kernel] = list(range(record.first, record.end))
    return [
        {
            "name": kernel.name,
            "file": kernel.file,
            "group": _extent(kernel.group),
            "users": users.get(number, []),
            # Pygments escapes what it highlights.
            "source": highlight(variant.sources[kernel.file], lexer, formatter),
        }
        for number, kernel in enumerate(plan.kernels)
    ]


def _dispatch(plan: Plan, index: int) -> dict[str, Any]:
    dispatch = plan.dispatches[index]
    return {
        "label": dispatch.label,
        "number": dispatch.kernel,
        "kernel": plan.kernels[dispatch.kernel].name,
        "grid": _extent(dispatch.grid),
        "group": _extent(plan.kernels[dispatch.kernel].group),
        "why": dispatch.why,
        "flops": dispatch.flops,
        "bytes": sum(argument.size for argument in dispatch.arguments),
        "operators": ", ".join(map(str, dispatch.operators)),
    }


def _tensor(plan: Plan, tensor: PlacedTensor) -> dict[str, Any]:
    arena = tensor.region is Region.ARENA
    return {
        "name": tensor.name,
        "type": f"{tensor.dtype}{list(tensor.shape)}",
        "storage": storage_of(tensor),
        "place": f"+{tensor.offset:,}" if arena else f"{tensor.region.name.lower()} {tensor.index}",
        "size": tensor.size,
        "first": "start" if tensor.first < 0 else tensor.first,
        "last": "end" if tensor.last >= len(plan.dispatches) else tensor.last,
    }


def _extent(extent: tuple[int, int, int]) -> str:
    return " × ".join(map(str, extent))  # noqa: RUF001
