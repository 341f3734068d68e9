"""AVERAGE_POOL_2D, L2_POOL_2D and MAX_POOL_2D. Averages ignore padding.

tflgpu.average_pool_integers has averages of centered integers, rounded to the nearest, halves away.
LiteRT adds up the integers themselves, so the zero point counts: it decides which way halves go.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from ..ir import Op, Shape
from ..target import Target
from .base import (
    Implementation,
    Launch,
    Traits,
    Window,
    among_operands,
    by_attributes,
    define,
    image_launch,
    image_shape,
)


def window(op: Op) -> Window:
    """The window of a pool, sized by its attributes (ModelError)."""
    return Window.of(op, op.attrs.get("filter_height", 0), op.attrs.get("filter_width", 0))


def infer(op: Op) -> list[Shape]:
    image = image_shape(op)
    rows, columns = window(op).output(op, *image[1:3])
    return [(image[0], rows, columns, image[3])]


def _kernel(template: str, *attributes: str) -> tuple[Implementation]:
    def build(op: Op, target: Target) -> Launch:
        shape = window(op)
        variables = {"window": shape, **{key: op.attrs[key] for key in attributes}}
        flops = op.output.elements * shape.height * shape.width
        return image_launch(op, target, template, variables, flops)

    return (Implementation(PurePosixPath(template).stem, build),)


define("AVERAGE_POOL_2D x:T -> y:T", infer, _kernel("pool/average_pool.jinja"), versions=3)
define(
    "tflgpu.average_pool_integers",
    infer,
    _kernel("pool/average_pool_integers.jinja", "zero", "low", "high"),
    traits=Traits(range=by_attributes),
)
define("L2_POOL_2D x:T -> y:T", infer, note="becomes SQUARE, AVERAGE_POOL_2D and SQRT")
define(
    "MAX_POOL_2D x:T -> y:T",
    infer,
    _kernel("pool/max_pool.jinja"),
    versions=3,
    traits=Traits(range=among_operands),
)
