"""What is too large for one kernel is split: weights into ranges of rows, reductions into steps."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ....runtime.plan.storage import WORD
from ...ir import Graph, Op, Shape, Tensor, constant
from ...ops.base.parts import largest_divisor
from ...ops.base.shapes import with_ones
from ...ops.base.storage import element_bytes, slice_count
from ...ops.indexing.lookup import NAME as LOOKUP
from ...ops.layers.weights import stored_bits
from ...ops.matmul.fully_connected import OF_BLOCKS
from ...ops.reduce.lines import group_size
from ...ops.reduce.reduce import REDUCTIONS, as_images, axes, nan_by_place
from ...target import Target
from ..decompose.decomposition import Decomposition
from ..rewrite import Attempt, Attempts, graph_rewrite
from .fuse_fully_connected_chain import LARGEST_IMAGE

BLOCK = 64  # Rows that stay together: whole slices, and whole tiles of them.


@graph_rewrite()
def split_large_weights(graph: Graph, target: Target) -> Attempts:
    """Weights of more bytes than a kernel may get of one buffer are split into ranges of rows.

        y = FULLY_CONNECTED(x, w[100000,512])
        becomes   p = FULLY_CONNECTED(x, w[:60000])   q = FULLY_CONNECTED(x, w[60000:])
                  y = CONCATENATION(p, q)             likewise CONV_2D

        y = GATHER(table[100000,512], i)
        becomes   p = GATHER(table[:60000], i)   q = GATHER(table[60000:], clamp(i - 60000))
                  y = SELECT_V2(i < 60000, p, q)   likewise tflgpu.lookup

    WebGPU, OpenGL ES and Vulkan guarantee 128 MiB, which tables of the words of a language pass,
    and the last layers of VGG.

    After layers are joined, and before elementwise operators are fused.
    """
    for op in graph.ops:
        weights = _weights(op)
        most = target.device.max_binding
        if weights is None or weights.shape[0] * _row(op, weights) <= most:
            continue
        rows = most // _row(op, weights) // BLOCK * BLOCK
        if (yield Attempt((op,), None if rows else "a few of its rows are as large")):
            places = [*range(0, weights.shape[0], rows), weights.shape[0]]
            here = Decomposition(graph, op, target)
            split = _lookups if op.name in _TABLES else _layer
            here.apply(split(here, places))


_LAYERS = ("FULLY_CONNECTED", OF_BLOCKS)
# The operand whose rows an operator takes, and the one that says which.
_TABLES = {"GATHER": (0, 1), LOOKUP: (1, 0)}


def _weights(op: Op) -> Tensor | None:
    """The constant of which each row has to do with other elements of the result, if any."""
    if op.name in _LAYERS or (op.name == "CONV_2D" and _ungrouped(op)):
        found = op.operand(1)
    elif op.name in _TABLES and not op.attrs.get("axis"):
        found = op.operand(_TABLES[op.name][0])
    else:
        return None
    return found if found.constant and found.elements else None


def _ungrouped(op: Op) -> bool:
    return op.operand(0).shape[-1] == op.operand(1).shape[-1]


def _row(op: Op, weights: Tensor) -> int:
    """Bytes of a row on the device.

    That of a layer has a bias, which lies beside the weights; one of a table that layers have, too,
    counts as much, so that both are split alike.
    """
    bits = 8 * element_bytes(weights) if op.name in _TABLES else stored_bits(op) or 8 * WORD
    bias = WORD if op.name not in _TABLES or weights.tied else 0
    return weights.elements // weights.shape[0] * bits // 8 + bias


def _layer(here: Decomposition, places: Sequence[int]) -> Tensor:
    """Weights, a bias, and maybe scales of blocks are split."""
    x, *constants = here.op.inputs
    parts = []
    for ends in pairwise(places):
        operands = [each and _rows(each, *ends) for each in constants]
        parts.append(here.add(here.op.name, x, *operands, **here.op.attrs))
    axis = len(here.op.output.shape) - 1
    return here.add("CONCATENATION", *parts, axis=axis)


def _lookups(here: Decomposition, places: Sequence[int]) -> Tensor:
    table, indices = map(here.op.operand, _TABLES[here.op.name])
    beside = here.reshape(indices, (*indices.shape, *(1 for _ in table.shape[1:])))
    # Of all parts, the first tells indices that are out of the whole table.
    result = _lookup(here, indices, places[:2], limit=places[-1])
    for start, end in pairwise(places[1:]):
        within = here.add("SUB", indices, here.constant(start, indices.dtype))
        for bound, last in (("MINIMUM", end - start - 1), ("MAXIMUM", 0)):
            within = here.add(bound, within, here.constant(last, indices.dtype))
        part = _lookup(here, within, (start, end))
        before = here.add("LESS", beside, here.constant(start, indices.dtype), dtype="bool")
        result = here.add("SELECT_V2", before, result, part, dtype=result.dtype)
    return result


def _lookup(here: Decomposition, indices: Tensor, ends: Sequence[int], **limit: int) -> Tensor:
    """The entries of some of the rows."""
    op, (at, _) = here.op, _TABLES[here.op.name]
    operands = list(op.inputs)
    operands[at], operands[1 - at] = _rows(op.operand(at), *ends), indices
    attrs = {**op.attrs, **limit}
    if "shape" in attrs:
        attrs["shape"] = (ends[1] - ends[0], *attrs["shape"][1:])
    return here.add(op.name, *operands, dtype=op.output.dtype, **attrs)


def _rows(tensor: Tensor, start: int, end: int) -> Tensor:
    return constant(f"{tensor.name}/{start}", tensor.values[start:end], tied=tensor.tied)


LARGEST_ROW = 1 << 12  # Values of an image that a work-group reduces together with its channels.
MIN_PIXELS = 16  # Fewest pixels for each work-item of a group that are worth another launch.


@graph_rewrite()
def split_reduction(graph: Graph, target: Target) -> Attempts:
    """A reduction of a large image becomes several, so that a GPU has enough to do.

    y = REDUCE_MAX(x[1,384,384,8]) over rows, columns and channels
    becomes   v = RESHAPE(x): [1,72,2048,8]   p = REDUCE_MAX(v) over rows
              q = REDUCE_MAX(p) over columns   y = REDUCE_MAX(q) over channels

    A single work-group for each slice of channels, or for all of them, would leave most of the
    device idle. The view launches nothing. Axes before the last one that are neighbours, as in
    MEAN(x[1,8,128,128,16]) over the three in the middle, are first seen as the pixels of images.

    Before elementwise operators are fused with the last of them.
    """
    for op in graph.ops:
        if target.on_processor or op.name not in REDUCTIONS:
            continue
        of_images = _of_images(op)
        large = op.operand(0).elements > LARGEST_IMAGE
        image = as_images(op) if large and not of_images else None
        if image is None and not of_images:
            continue
        reason = nan_by_place(op, target)
        if reason is not None:
            yield Attempt((op,), reason)
            continue
        if image is not None:
            op = _see_images(graph, op, image)
        parts, reduced = _parts(op, target), axes(op)
        steps: list[tuple[int, ...]] = [(1, 2)] if parts == 1 else [(1,), (2,)]
        steps += [(3,)] if 3 in reduced else []
        whole = image is None and len(steps) == 1
        yield Attempt((op,), "it has enough work-items as it is" if whole else None)
        if len(steps) > 1:
            _split(graph, op, parts, steps)


def _of_images(op: Op) -> bool:
    """Whether it reduces all pixels of large images of floats, whose channels lie in slices."""
    x = op.operand(0)
    if len(x.shape) != 4 or x.dtype != "float32" or not op.attrs.get("keep_dims"):
        return False
    reduced = set(axes(op))
    most = LARGEST_ROW if 3 in reduced else LARGEST_IMAGE
    return {1, 2} <= reduced <= {1, 2, 3} and x.elements > most


def _see_images(graph: Graph, op: Op, shape: Shape) -> Op:
    """The reduction as one of images, whose result has its shape from a view."""
    value, name = op.operand(0), op.output.name
    view = Tensor(f"{name}/images", shape, value.dtype)
    pixels = constant(f"{name}/pixels", np.array((1, 2), np.int32))
    reduced = Tensor(f"{name}/reduced", (shape[0], 1, 1, shape[-1]), value.dtype)
    graph.add(Op("RESHAPE", (value,), (view,), {"new_shape": shape}, op.index))
    found = Op(op.name, (view, pixels), (reduced,), {**op.attrs, "keep_dims": True}, op.index)
    graph.add(found)
    op.name, op.attrs = "RESHAPE", {"new_shape": op.output.shape}
    graph.set_inputs(op, (reduced,))
    return found


def _parts(op: Op, target: Target) -> int:
    """How many parts of equal size the pixels are split into; 1 if that does not pay."""
    batch, height, width, channels = op.operand(0).shape
    pixels, slices = height * width, batch * slice_count(channels, target)
    items = group_size(pixels, target)
    if slices * items >= target.device.work_items or pixels < MIN_PIXELS * items:
        return 1
    parts = largest_divisor(pixels, target.device.work_items // slices)
    return parts if parts > items else 1


def _split(graph: Graph, op: Op, parts: int, steps: Sequence[tuple[int, ...]]) -> None:
    """Parts are columns, so that neighbouring work-items read neighbouring pixels."""
    value, name = op.operand(0), op.output.name
    if parts > 1:
        batch, height, width, channels = value.shape
        shape = (batch, height * width // parts, parts, channels)
        view = Tensor(f"{name}/parts", shape, value.dtype)
        graph.add(Op("RESHAPE", (value,), (view,), {"new_shape": shape}, op.index))
        value = view
    for number, step in enumerate(steps):
        over = constant(f"{name}/axes_{number}", np.array(step, np.int32))
        if number == len(steps) - 1:
            graph.set_inputs(op, (value, over))
            return
        size = with_ones(value.shape, step)
        partial = Tensor(f"{name}/step_{number}", size, value.dtype, kept=True)
        graph.add(Op(op.name, (value, over), (partial,), op.attrs, op.index))
        value = partial
