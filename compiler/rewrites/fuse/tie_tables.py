"""Tables that layers have as their weights, too, are stored once, in the order of the weights.

Language models have such: the numbers that stand for a token also weigh how likely it is.
"""

from typing import Any

import numpy as np

from ...ir import Array, Graph, Op, Tensor, Whole, constant
from ...ops.base.storage import SLICED, stored_array
from ...ops.indexing.lookup import NAME as LOOKUP
from ...ops.indexing.lookup import from_halves
from ...ops.layers.byte_products import WORD, byte_products, multiplies_bytes
from ...ops.layers.weights import LEAST
from ...ops.matmul.fully_connected import OF_BLOCKS, build
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite

FLOAT = 32  # The bits of numbers that are no integers.


@graph_rewrite()
def tie_tables(graph: Graph, target: Target) -> Attempts:
    """Lookups read a table in the order in which layers have it as their weights.

        y = tflgpu.lookup(ids, table) bits=8 shape=(32000,512)
        becomes   y = tflgpu.lookup(ids, weights) bits=8 shape=(32000,512) block=64 unit=4

        y = GATHER(table[32000,512], ids)
        becomes   y = tflgpu.lookup(ids, weights) bits=32 shape=(32000,512) block=64

    The layers may be those of another signature. After large tables and weights are split.
    """
    for op in graph.ops:
        layer = _layer(op)
        if layer is None:
            continue
        inexact = target.half and not layer.attrs["exact"]
        if (yield Attempt((op,), "half precision has another order" if inexact else None)):
            _tie(graph, op, layer, target)


def _layer(op: Op) -> Op | None:
    """A layer of one row with the weights that an operator looks up, if layers have them."""
    blocks, bits = 0, FLOAT
    if op.name == LOOKUP and op.operand(1).tied:
        table, blocks, bits = op.operand(1), op.attrs["blocks"], op.attrs["bits"]
        numbers = from_halves(table.values) if bits == 4 else table.values
        weights = constant(table.name, numbers.reshape(op.attrs["shape"]), tied=True)
    elif op.name == "GATHER" and op.operand(0).tied and not op.attrs.get("axis"):
        weights = op.operand(0)
    else:
        return None
    # Tensors of other shapes may have the same content.
    if len(weights.shape) != 2 or (bits == FLOAT and weights.dtype != "float32"):
        return None
    rows, columns = weights.shape
    x = Tensor("x", (1, columns), whole=Whole(8, LEAST[8]))
    scales = [constant("scales", np.ones((rows, blocks), np.float32))] if blocks else []
    name, attrs = OF_BLOCKS if blocks else "FULLY_CONNECTED", {"exact": bits != FLOAT}
    return Op(name, (x, weights, None, *scales), (Tensor("y", (1, rows)),), attrs)


def _tie(graph: Graph, lookup: Op, layer: Op, target: Target) -> None:
    """Let a lookup read what a layer has."""
    content, attrs = _as_weights(layer, target)
    ids = lookup.operand(0 if lookup.name == LOOKUP else 1)
    shape = layer.operand(1).shape
    limit = lookup.attrs.get("limit", shape[0])
    lookup.name, lookup.attrs = LOOKUP, {**attrs, "shape": shape, "limit": limit}
    graph.set_inputs(lookup, (ids, constant(f"{layer.operand(1).name}/in_order", content)))


def _as_weights(layer: Op, target: Target) -> tuple[Array, dict[str, Any]]:
    """The weights as a layer stores them, flat, and the attributes of lookups that read them.

    Whatever their type, numbers that 4 bits hold are stored in so many.
    """
    blocks = len(layer.inputs) > 3
    if multiplies_bytes(layer, target) is None and (target.on_processor or not blocks):
        scales = layer.constant(3) if blocks else None
        launch = byte_products(layer, target, None, None, scales)
        bits = 4 if launch.variables["factor"] > 1 else 8
        order = {"unit": WORD * 8 // bits, "run": WORD, "least": launch.variables["offset"]}
    else:
        launch = build(layer, target, None)
        whole = launch.packed["weights"].whole
        bits = FLOAT if whole is None else whole.bits
        order = {"run": target.lanes, "least": whole.base if whole else 0, "signed": whole is None}
    stored: Array = stored_array(launch.packed["weights"], SLICED, target).reshape(-1)
    if bits < FLOAT:
        stored = stored.view(np.int8 if bits == 8 and order.get("signed", True) else np.uint8)
    assert launch.tile is not None
    return stored, {"bits": bits, "block": launch.tile.slices * target.lanes, **order}
