"""AVERAGE_POOL_2D, L2_POOL_2D and MAX_POOL_2D. Averages ignore padding.

tflgpu.average_pool_integers has averages of centered integers, rounded to the nearest, halves away.
LiteRT adds up the integers themselves, so the zero point counts: it decides which way halves go.

MaxPoolingWithArgmax2D keeps where maxima were, and MaxUnpooling2D puts them back; LiteRT's too.
MediaPipe's operators store the position of a maximum in its window, row * width + column, as a
float, increased by 0.1 so that truncation recovers it. LiteRtMaxUnpooling2D instead takes int32
positions in the whole image, (row * width + column) * channels + channel, and ignores positions in
a channel other than the value's.
"""

from math import prod
from pathlib import PurePosixPath

import numpy as np

from ...ir import Op, Shape
from ...target import Target
from ..base.definition import Implementation, define, row_major
from ..base.launch import Launch, image_launch, linear_grid, linear_launch
from ..base.row_slices import no_row_slices
from ..base.shapes import image_shape
from ..base.traits import Traits, among_operands, by_attributes
from ..base.window import Window

FEW = 4  # How many times the channels must fit into a slice for rows to be pooled as they lie.


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


def _few_channels(op: Op, target: Target) -> str | None:
    """Slices would hold a few channels, and the rest be zero."""
    channels = op.output.shape[3]
    if channels * FEW > target.lanes:
        return f"{channels} channels fill slices of {target.lanes}"
    return no_row_slices(op, target, (), op.operand(0))


def _rows(maximum: bool) -> Implementation:
    """As many pixels of a row for each work-item as fill a slice."""

    def build(op: Op, target: Target) -> Launch:
        size, (batches, rows, columns, channels) = window(op), op.output.shape
        pixels = target.lanes // channels
        shape = (batches, rows, -(-columns // pixels))
        start = -np.inf if maximum else 0.0
        variables = {"window": size, "maximum": maximum, "start": start}
        return Launch.of(
            op,
            "pool/pool_rows.jinja",
            linear_grid(prod(shape)),
            variables={**variables, "pixels": pixels, "shape": shape},
            flops=op.output.elements * size.height * size.width,
        )

    return row_major("pool_rows", build, _few_channels)


define(
    "AVERAGE_POOL_2D x:T -> y:T",
    infer,
    (*_kernel("pool/average_pool.jinja"), _rows(maximum=False)),
    versions=3,
)
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
    (*_kernel("pool/max_pool.jinja"), _rows(maximum=True)),
    versions=3,
    traits=Traits(range=among_operands),
)


def _pool(op: Op, target: Target) -> Launch:
    values, places = op.outputs
    return Launch(
        "pool/max_pool_places.jinja",
        linear_grid(values.elements),
        {"x": op.operand(0)},
        {"y": values, "places": places},
        variables={"window": window(op)},
        flops=values.elements * window(op).height * window(op).width,
    )


def _unpooled(op: Op) -> tuple[Shape, Window]:
    """The shape of the values, which their positions share, and the pool's window (ModelError)."""
    image = image_shape(op)
    if op.operand(1).shape != image:
        raise op.invalid(
            f"positions {list(op.operand(1).shape)} must have the shape of the values {list(image)}"
        )
    return image, window(op)


def _infer_unpool(op: Op) -> list[Shape]:
    (batch, rows, columns, channels), window = _unpooled(op)
    return [(batch, rows * window.height, columns * window.width, channels)]


def _infer_flat_unpool(op: Op) -> list[Shape]:
    (batch, rows, columns, channels), window = _unpooled(op)
    if op.attrs.get("padding", "SAME") == "SAME":
        return [(batch, rows * window.stride_y, columns * window.stride_x, channels)]
    height = (rows - 1) * window.stride_y + window.height
    return [(batch, height, (columns - 1) * window.stride_x + window.width, channels)]


def _before(op: Op, axis: int, size: int, stride: int) -> int:
    """The padding before the axis that the corresponding pool had."""
    if op.attrs.get("padding", "SAME") != "SAME":
        return 0
    pooled, whole = op.operand(0).shape[axis], op.output.shape[axis]
    return max((pooled - 1) * stride + size - whole, 0) // 2


def _unpool(op: Op, target: Target) -> Launch:
    size = window(op)
    variables = {
        "window": size,
        "top": _before(op, 1, size.height, size.stride_y),
        "left": _before(op, 2, size.width, size.stride_x),
    }
    reads = {"x": op.operand(0), "places": op.operand(1)}
    return linear_launch(op, "pool/max_unpool.jinja", reads=reads, variables=variables)


def _flat_unpool(op: Op, target: Target) -> Launch:
    reads = {"x": op.operand(0), "places": op.operand(1)}
    grid = linear_grid(op.output.shape[0] * op.output.shape[3])
    return Launch.of(op, "pool/max_unpool_flat.jinja", grid, reads=reads, heavy=True)


define(
    "LiteRtMaxUnpooling2D x places -> y",
    _infer_flat_unpool,
    (row_major("max_unpool_flat", _flat_unpool, fuses=False),),
    None,
    ("float32", "int32"),
)
define(
    "MaxPoolingWithArgmax2D x -> values places",
    lambda op: infer(op) * 2,
    (row_major("max_pool_places", _pool, fuses=False),),
)
define("MaxUnpooling2D x places -> y", _infer_unpool, (row_major("max_unpool", _unpool),))
