"""Tensors of at most 256 different whole numbers are stored as bytes, of at most 65536 as shorts.

    s = CONV_2D(x, w, b)                    float32
    y = tflgpu.requantize(s) low=-128 high=127      stored as bytes: -128 as 0, 127 as 255

The numbers stay float32 for the kernels; reading adds the least number, and writing subtracts it.
Which numbers a tensor may hold follows from the limits to which operators round, from the entries
of tables, and from the types of the model's inputs. What the application, LiteRT or a later run
reads stays as it is.
"""

import numpy as np

from ...ir import WHOLE_BITS, Graph, Tensor, Whole
from ...ops.base.definition import traits_of
from ...ops.base.traits import Range, hull
from ...ops.elementwise.centered import TO_CENTERED
from ...ops.litert_part import LITERT
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite

_BITS = (WHOLE_BITS["bytes"], WHOLE_BITS["shorts"])


@graph_rewrite()
def store_integers(graph: Graph, target: Target) -> Attempts:
    """Decide for each float tensor whether it is stored as integers."""
    if not target.device.byte_storage:
        return
    ranges = ranges_of(graph)
    found: dict[Tensor, Whole] = {}
    exposed = _exposed(graph)
    centered = (op for op in graph.ops if op.name == TO_CENTERED)
    of_int8 = {op.output for op in centered if op.operand(0).dtype == "int8"}
    for group in _groups(graph):
        known = [ranges[tensor] for tensor in group if tensor in ranges]
        if len(known) == len(group) and exposed.isdisjoint(group):
            low, high = hull((*known, (0, 0)))
            bits = next((n for n in _BITS if high - low < 1 << n), None)
            if bits is not None:
                signed = bits == 8 and not of_int8.isdisjoint(group)
                found |= dict.fromkeys(group, Whole(bits, low, signed))
    for op in graph.ops:
        if any(tensor in found for tensor in op.outputs):
            yield Attempt((op,))
            for tensor in op.outputs:
                tensor.whole = found.get(tensor)


def _exposed(graph: Graph) -> set[Tensor]:
    """The tensors that are read outside of kernels: by the application, LiteRT and later runs."""
    parts = (tensor for op in graph.ops if op.name == LITERT for tensor in op.reads)
    return {*graph.outputs, *graph.kept, *graph.kept.values(), *parts}


def ranges_of(graph: Graph) -> dict[Tensor, Range]:
    """The range of each float tensor that is known to hold whole numbers only."""
    found: dict[Tensor, Range] = {}
    for op in (inner for whole in graph.ops if whole.name != LITERT for inner in whole.ops):
        range_of = traits_of(op.name).range
        if range_of is None:
            continue
        known = range_of(op, [_known(tensor, found) for tensor in op.inputs])
        if known is not None:
            found |= {tensor: known for tensor in op.outputs if tensor.dtype == "float32"}
    return found


def _known(tensor: Tensor | None, found: dict[Tensor, Range]) -> Range | None:
    if tensor is None or tensor.data is None:
        return None if tensor is None else found.get(tensor)
    whole = tensor.elements and np.isfinite(tensor.data).all()
    if not whole or not np.array_equal(np.rint(tensor.data), tensor.data):
        return None
    return int(tensor.data.min()), int(tensor.data.max())


def _groups(graph: Graph) -> list[list[Tensor]]:
    """The float tensors of a graph; those that may be views of one another are one group."""
    groups: dict[Tensor, list[Tensor]] = {}
    for op in graph.ops:
        for tensor in op.outputs:
            if tensor.dtype == "float32":
                groups[tensor] = [tensor]
    for op in graph.ops:
        traits = traits_of(op.name)
        if op.epilogue or not (traits.aliases or traits.reshapes):
            continue
        alike = [tensor for tensor in (*op.reads, *op.outputs) if tensor in groups]
        joined = list(dict.fromkeys(member for tensor in alike for member in groups[tensor]))
        groups |= dict.fromkeys(joined, joined)
    return list({id(group): group for group in groups.values()}.values())
