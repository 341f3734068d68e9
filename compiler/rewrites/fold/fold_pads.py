"""Zeros around a feature map become the padding of what reads it."""

import numpy as np

from ...ir import Graph, Op, constant
from ...ops.base.definition import traits_of, window_of
from ...ops.base.storage import FLOATS
from ...ops.base.window import Window
from ...ops.elementwise.binary import ADD_PADDED
from ...ops.move.concat import concat_axis
from ...ops.move.pad import fill, paddings
from ...ops.reduce.pool import window
from ..rewrite import rewrite

Pair = tuple[int, int]  # What is before and after.


@rewrite("CONCATENATION", {"ADD", "CONV_2D", "DEPTHWISE_CONV_2D"})
def concat_to_pad(graph: Graph, op: Op, reader: Op) -> str | None:
    """A concatenation with zeros becomes a PAD, if its reader can fold padding.

    t = CONCATENATION(x, zeros) axis=1   y = CONV_2D(t, w)
    becomes   t = PAD(x)   y = CONV_2D(t, w)
    """
    computed = [i for i in range(len(op.inputs)) if not op.operand(i).constant]
    if len(computed) != 1 or len(op.inputs) == 1:
        return "it does not concatenate one computed tensor with constants"
    if any(t.data.any() for t in op.reads if t.data is not None):
        return "a constant is not all zeros"
    axis = concat_axis(op)
    sizes = [op.operand(i).shape[axis] for i in range(len(op.inputs))]
    table = np.zeros((len(op.output.shape), 2), np.int32)
    table[axis] = sum(sizes[: computed[0]]), sum(sizes[computed[0] + 1 :])
    source = op.operand(computed[0])
    graph.set_inputs(op, (source, constant(f"{op.output.name}/paddings", table)))
    op.name, op.attrs = "PAD", {}
    return None


@rewrite({"PAD", "PADV2"})
def fold_pad_into_conv(graph: Graph, pad: Op) -> str | None:
    """A PAD of zeros that only convolutions read becomes their own padding.

    t = PAD(x)   y = CONV_2D(t, w) padding=VALID
    becomes   y = CONV_2D(x, w) padding=((top, bottom), (left, right))

    Pooling ignores its own padding, but counts the zeros of a PAD, so a PAD cannot be folded into
    it in general. `fold_pad_into_pool` handles the case that no zero can be a maximum.
    """
    readers = graph.consumers(pad.output)
    others = [reader.name for reader in readers if window_of(reader) is None]
    if others or graph.is_output(pad.output) or not readers:
        names = ", ".join(others) or "the model's output"
        return f"it is not read by convolutions alone, but also by {names}"
    if any(reader.reads.count(pad.output) != 1 for reader in readers):
        return "a convolution reads it as more than its feature map"
    if any(reader.operand(0) is not pad.output for reader in readers):
        return "a convolution does not read it as its feature map"
    if len(pad.output.shape) != 4:
        return f"the feature map has rank {len(pad.output.shape)}"
    batch, rows, columns, channels = paddings(pad)
    if any((*batch, *channels)):
        return "it pads the batch or the channels"
    if fill(pad) != 0:
        return f"it pads with {fill(pad)}"
    for op in readers:
        own = window_of(op)
        assert own is not None
        op.attrs = {**op.attrs, "padding": _padding(own, rows, columns)}
        graph.set_inputs(op, (pad.operand(0), *op.inputs[1:]))
    graph.remove(pad)
    return None


def _padding(window: Window, rows: Pair, columns: Pair) -> tuple[Pair, Pair]:
    """The attribute `padding` of a window whose image is no longer padded before."""
    top, bottom = rows[0] + window.top, rows[1] + window.bottom
    return (top, bottom), (columns[0] + window.left, columns[1] + window.right)


LOWEST = float(np.finfo(np.float32).min)

# Operators whose results are never negative.
NOT_NEGATIVE = frozenset(["ABS", "EXP", "LOGISTIC", "RELU", "RELU6", "RELU_0_TO_1", "SQUARE"])


@rewrite({"PAD", "PADV2"}, "MAX_POOL_2D")
def fold_pad_into_pool(graph: Graph, pad: Op, pool: Op) -> str | None:
    """A PAD whose values can never be a maximum becomes the padding of a MAX_POOL_2D.

        t = PADV2(x, -inf)   y = MAX_POOL_2D(t) padding=VALID
        becomes   y = MAX_POOL_2D(x) padding=((top, bottom), (left, right))

    The same holds for a PAD of zeros if the feature map has no negative values, as after a RELU, or
    after a rounding to integers from 0.
    """
    image = pad.operand(0)
    if len(image.shape) != 4:
        return f"the feature map has rank {len(image.shape)}"
    batch, rows, columns, channels = paddings(pad)
    if any((*batch, *channels)):
        return "it pads the batch or the channels"
    if fill(pad) > _least(graph.producer(image)):
        return f"the padding value {fill(pad)} may be a maximum"
    own = window(pool)
    padding = _padding(own, rows, columns)
    (top, _), (left, _) = padding
    down = (top, own.height, own.stride_y, image.shape[1], pool.output.shape[1])
    along = (left, own.width, own.stride_x, image.shape[2], pool.output.shape[2])
    if not _sees_pixels(*down) or not _sees_pixels(*along):
        return "a window lies entirely in the padding"
    pool.attrs = {**pool.attrs, "padding": padding}
    graph.bypass(pad)
    return None


def _least(producer: Op | None) -> float:
    """The least number that an operator may result in."""
    if producer is None:
        return LOWEST
    if producer.name in NOT_NEGATIVE:
        return 0.0
    range_of = traits_of(producer.name).range
    known = range_of(producer, [None] * len(producer.inputs)) if range_of else None
    return LOWEST if known is None else float(known[0])


def _sees_pixels(before: int, window: int, stride: int, size: int, windows: int) -> bool:
    """Whether the first and the last window along an axis overlap the image."""
    return before < window and (windows - 1) * stride - before < size


@rewrite({"PAD", "PADV2"}, "ADD")
def fold_pad_into_add(graph: Graph, pad: Op, add: Op) -> str | None:
    """A PAD that appends channels of zeros is folded into the ADD that reads it, as in BlazeFace.

    t = PAD(r)   y = ADD(c, t)
    becomes   y = tflgpu.add_padded(c, r)
    """
    *outer, (before, _) = paddings(pad)
    if add.output.dtype not in FLOATS:
        return "it adds integers"
    if any(any(pair) for pair in outer) or before:
        return "it pads more than the end of the channels"
    if fill(pad) != 0:
        return f"it pads with {fill(pad)}"
    wide = add.operand(1 if add.operand(0) is pad.output else 0)
    narrow = pad.operand(0)
    if wide is pad.output or wide.shape != add.output.shape or pad.output.shape != wide.shape:
        return "the other operand has another shape"
    if narrow.shape[-1] == 1:
        return "a single channel would broadcast to all channels"
    graph.set_inputs(add, (wide, narrow))
    add.name = ADD_PADDED
    graph.remove(pad)
    return None
