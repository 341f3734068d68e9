"""Sessions and runs as text for people: one line, and a table for notebooks."""

from collections.abc import Sequence
from html import escape

from .execution.execution import Execution
from .plan.records import TensorInfo
from .printable import printable


def one_line(kind: str, execution: Execution, state: str = "") -> str:
    """The kind of object, its model, device and state, and the model's inputs and outputs."""
    plan = execution.plan
    ends = " -> ".join(", ".join(map(_tensor, infos)) for infos in (plan.inputs, plan.outputs))
    words = (kind, printable(plan.model), "on", _device(execution), *([state] if state else []))
    return f"<{' '.join(words)}: {ends}>"


def table(execution: Execution, choices: int) -> str:
    """HTML with the model, its device, how many choices of shapes it has, inputs and outputs."""
    plan = execution.plan
    rows = "".join(
        f"<tr><td>{kind}</td><td>{escape(printable(info.name))}</td><td>{info.dtype}</td>"
        f"<td>{_shape(info)}</td></tr>"
        for kind, infos in (("input", plan.inputs), ("output", plan.outputs))
        for info in infos
    )
    others = f"; first of {choices} choices of input shapes" if choices > 1 else ""
    return (
        f"<p><b>{escape(printable(plan.model))}</b> on {escape(_device(execution))} "
        f"({plan.target}, {plan.precision}, {len(plan.dispatches)} kernels{others})</p>"
        f"<table><tr><th></th><th>name</th><th>dtype</th><th>shape</th></tr>{rows}</table>"
    )


def _device(execution: Execution) -> str:
    name = printable(execution.device.info.name)
    return f"{name} (closed)" if execution.owner.closed else name


def _tensor(info: TensorInfo) -> str:
    return f"{printable(info.name)} {info.dtype}{_shape(info)}"


def _shape(info: TensorInfo) -> Sequence[int] | str:
    return "[?]" if info.dynamic else list(info.shape)
