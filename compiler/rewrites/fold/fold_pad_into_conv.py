"""A PAD of zeros that only convolutions read becomes their own padding.

t = PAD(x)   y = CONV_2D(t, w) padding=VALID
becomes   y = CONV_2D(x, w) padding=((top, bottom), (left, right))

Pooling ignores its own padding, but counts the zeros of a PAD, so a PAD cannot be folded into it in
general. `fold_pad_into_pool` handles the case that no zero can be a maximum.
"""

from __future__ import annotations

from ...ir import Graph, Op
from ...ops.base import window_of
from ...ops.pad import fill, paddings
from ..rewrite import Declined, rewrite


@rewrite({"PAD", "PADV2"})
def fold_pad_into_conv(graph: Graph, pad: Op) -> Declined | None:
    readers = graph.consumers(pad.output)
    others = [reader.name for reader in readers if window_of(reader) is None]
    if others or graph.is_output(pad.output) or not readers:
        names = ", ".join(others) or "the model's output"
        return Declined(f"it is not read by convolutions alone, but also by {names}")
    if any(reader.reads.count(pad.output) != 1 for reader in readers):
        return Declined("a convolution reads it as more than its feature map")
    if any(reader.operand(0) is not pad.output for reader in readers):
        return Declined("a convolution does not read it as its feature map")
    if len(pad.output.shape) != 4:
        return Declined(f"the feature map has rank {len(pad.output.shape)}")
    batch, rows, columns, channels = paddings(pad)
    if any((*batch, *channels)):
        return Declined("it pads the batch or the channels")
    if fill(pad) != 0:
        return Declined(f"it pads with {fill(pad)}")
    for op in readers:
        window = window_of(op)
        assert window is not None
        op.attrs = {
            **op.attrs,
            "padding": (
                (rows[0] + window.top, rows[1] + window.bottom),
                (columns[0] + window.left, columns[1] + window.right),
            ),
        }
        graph.set_inputs(op, (pad.operand(0), *op.inputs[1:]))
    graph.remove(pad)
    return None
