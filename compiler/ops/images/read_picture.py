"""Pictures of bytes as inputs and outputs.

    y = tflgpu.read_picture(x) top=0 left=420 height=1080 width=1080 rows=224 columns=224 channels=3

A part of a picture, resized, as floats. It stands for a STRIDED_SLICE of pixels and channels, a
CAST to float32, and the operator `resize` with half-pixel centers, if there is one, to `rows` x
`columns`. One kernel computes all of it and reads only the pixels it needs.

    y = tflgpu.add_alpha(x)     [batch, height, width, 3] to [batch, height, width, 4]

Pixels of three channels with a fourth that is 255, opaque.
"""

import numpy as np

from ...ir import Op, Shape
from ...target import Target
from ..base.definition import Implementation, define, row_major
from ..base.launch import Launch, image_launch
from ..base.storage import LINEAR, SLICED
from .resize import Scale

READ_PICTURE = "tflgpu.read_picture"
ADD_ALPHA = "tflgpu.add_alpha"

# The template for each way to resize.
_TEMPLATES = {
    "": "picture/read_picture.jinja",
    "RESIZE_BILINEAR": "picture/read_picture_bilinear.jinja",
    "RESIZE_NEAREST_NEIGHBOR": "picture/read_picture_nearest.jinja",
}


def _infer(op: Op) -> list[Shape]:
    attrs = op.attrs
    return [(op.operand(0).shape[0], attrs["rows"], attrs["columns"], attrs["channels"])]


def _scale(source: int, target: int, offset: float) -> Scale:
    return Scale(float(np.float32(source) / np.float32(target)), 0.5, offset)


def _build(op: Op, target: Target) -> Launch:
    attrs, resize = op.attrs, op.attrs["resize"]
    offset = 0.5 if resize == "RESIZE_BILINEAR" else 0.0
    variables = {
        "part": attrs,
        "rows": _scale(attrs["height"], attrs["rows"], offset),
        "columns": _scale(attrs["width"], attrs["columns"], offset),
        "corners": False,
    }
    flops = 8 * op.output.elements if resize == "RESIZE_BILINEAR" else 0
    return image_launch(op, target, _TEMPLATES[resize], variables, flops)


define(
    READ_PICTURE,
    _infer,
    (
        Implementation("read_picture", _build, reads=LINEAR),
        row_major("read_picture_to_linear", _build, computes=SLICED),
    ),
    dtypes=("uint8", "float32"),
)
define(
    ADD_ALPHA,
    lambda op: [(*op.operand(0).shape[:-1], 4)],
    (
        Implementation(
            "add_alpha", lambda op, target: image_launch(op, target, "picture/add_alpha.jinja", {})
        ),
    ),
)
