"""ARG_MAX and ARG_MIN: positions of extreme values. Among equal values the first wins."""

from dataclasses import replace
from math import prod

import numpy as np

from ...ir import Array, Op, Shape
from ...target import Target
from ..base.definition import Implementation, define, row_major
from ..base.images import rank_fits
from ..base.launch import Launch, linear_launch
from ..base.shapes import second_operand_axis
from ..base.storage import ANY, FLOATS, LINEAR


def _infer_arg(op: Op) -> list[Shape]:
    shape, axis = op.operand(0).shape, second_operand_axis(op)
    if not shape[axis]:
        raise op.invalid(f"axis {axis} of {list(shape)} is empty")
    return [(*shape[:axis], *shape[axis + 1 :])]


def _over_channels(op: Op, target: Target) -> str | None:
    if second_operand_axis(op) != len(op.operand(0).shape) - 1:
        return "it is not over the channels"
    return rank_fits(op, target)


def _over_rows(op: Op, target: Target) -> str | None:
    shape = op.operand(0).shape
    if second_operand_axis(op) != len(shape) - 1 or op.operand(0).dtype not in FLOATS:
        return "it is not over rows of floats"
    if not target.on_processor:
        return "work-items walk rows of their own, whose numbers lie far apart"
    return f"{shape[-1]} numbers do not fill a slice" if shape[-1] < target.lanes else None


def _arg_of_slices(op: Op, target: Target, of_rows: bool = False) -> Launch:
    launch = _arg(op, target)
    variables = {**launch.variables, "row_major": of_rows}
    template = "reduce/arg_reduce_sliced.jinja"
    return replace(launch, template=template, flatten=not of_rows, variables=variables)


def _arg_of_rows(op: Op, target: Target) -> Launch:
    return replace(_arg_of_slices(op, target, True), variant="_rows")


def _arg(op: Op, target: Target) -> Launch:
    shape, axis = op.operand(0).shape, second_operand_axis(op)
    return linear_launch(
        op,
        "reduce/arg_reduce.jinja",
        variables={
            "size": shape[axis],
            "inner": prod(shape[axis + 1 :]),
            "better": ">" if op.name == "ARG_MAX" else "<",
        },
        flops=op.operand(0).elements,
    )


def _reference_arg(op: Op, x: Array, *_: Array) -> Array:
    """As the kernel, also of NaN."""
    axis = second_operand_axis(op)
    extreme = np.fmax if op.name == "ARG_MAX" else np.fmin
    best = extreme.reduce(x, axis, keepdims=True)
    # NaN equals nothing: where there is nothing else, the first place.
    places = np.argmax(x == best, axis)
    return np.asarray(places)


_NAN = "NaN is never found; in LiteRT it is at times, if it comes first along a short last axis"

_ARG = (
    Implementation("arg_reduce_sliced_rows", _arg_of_rows, _over_rows, LINEAR, LINEAR),
    row_major("arg_reduce", _arg),
    Implementation("arg_reduce_sliced", _arg_of_slices, _over_channels, writes=LINEAR),
)

for _name in ("ARG_MAX", "ARG_MIN"):
    _signature = f"{_name} x axis:integer -> y:integer"
    define(_signature, _infer_arg, _ARG, _reference_arg, ANY, _NAN, versions=3)
