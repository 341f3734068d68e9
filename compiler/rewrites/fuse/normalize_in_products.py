"""Fully connected layers normalize the rows that they read.

    n = tflgpu.normalization(x)   y = FULLY_CONNECTED(n, w, b)
    becomes   y = tflgpu.normalized_product(x, w, b)

    t = { n = tflgpu.normalization(x) | s = MUL(n, g) | t = ADD(s, o) }
    y = FULLY_CONNECTED(t, w, b)   z = { FULLY_CONNECTED(u, v) | ADD(t) }
    becomes   y, t = tflgpu.normalized_product(x, w * g, b + w o, g, o)   z = ...

A kernel less, and no work-item waits for another row than its own. If others read the normalized
rows as well, the first layer stores them. Gains and offsets become part of the weights, and of the
weights of each output of layer normalization their mean is taken, which centers the rows.
"""

import numpy as np

from ...ir import Array, FusedOp, Graph, Op, Tensor, constant
from ...ops.layers.weights import computed_weights
from ...ops.matmul.normalized_product import NAME, unsuited
from ...ops.reduce.normalization import NAME as NORMALIZATION
from ...ops.reduce.normalization import shape_normalized
from ...target import Target
from ..rewrite import LOOKED_UP, Attempt, Attempts, graph_rewrite

MOST_LAYERS = 3  # Layers that find the deviations of the same rows, each by itself.
Affine = tuple[Array, Array]  # Gain and offset of each channel.


@graph_rewrite()
def normalize_in_products(graph: Graph, target: Target) -> Attempts:
    for op in graph.ops:
        if op.name != NORMALIZATION:
            continue
        order = {each: position for position, each in enumerate(graph.ops)}
        readers = sorted(graph.consumers(op.output), key=order.__getitem__)
        layers = [each for each in readers if _is_layer(each, op.output)]
        if not layers:
            continue
        stored = len(layers) < len(readers) or graph.is_output(op.output)
        affine = gain_and_offset(op)
        reason = _unsupported_reason(op, affine, readers, layers, stored, target)
        yield Attempt((op, *layers), reason)
        if reason is None and affine is not None:
            _rewrite(graph, op, affine, layers, stored)


def _is_layer(op: Op, rows: Tensor) -> bool:
    """Whether an operator is a layer whose core alone reads these rows, as its image."""
    return (
        op.name == "FULLY_CONNECTED"
        and op.operand(0) is rows
        and rows not in op.epilogue_inputs
        and len(op.core) == 1
    )


def _unsupported_reason(
    op: Op, affine: Affine | None, readers: list[Op], layers: list[Op], stored: bool, target: Target
) -> str | None:
    """Why layers should not normalize their rows; None if they should."""
    if not over_rows(op):
        return "the mean is not over rows"
    if affine is None:
        return "its epilogue is not a gain and an offset for each channel"
    if len(layers) > MOST_LAYERS:
        return f"{len(layers)} layers would find the deviations of the same rows"
    for layer in layers:
        if reason := computed_weights(layer):
            return reason
        if len(layer.inputs) > 3 or "exact" in layer.attrs or layer.early_outputs:
            return "the layer has whole numbers, a gate or early outputs"
        if layer.operand(1).tied:
            return LOOKED_UP
        if reason := unsuited(layer, target):
            return reason
    if readers[0] is not layers[0]:
        return "the rows are read before the first layer"
    if stored:
        buffers = len(set(layers[0].reads)) + 3
        if buffers > target.device.max_arguments:
            return f"the kernel would need {buffers} buffers"
    return None


def over_rows(op: Op) -> bool:
    shape = shape_normalized(op)
    over = {axis for axis in op.attrs["axes"] if shape[axis] > 1}
    return over == {len(shape) - 1} and shape == op.output.shape


def gain_and_offset(op: Op) -> Affine | None:
    """Gain and offset of each channel that an epilogue of constants amounts to; None if others."""
    channels = op.output.shape[-1]
    gain, offset = np.ones(channels), np.zeros(channels)
    value = op.core[-1].output
    if op.early_outputs:
        return None
    for step in op.epilogue:
        values = [each for each in step.inputs if each is not value]
        table = values[0].data if len(values) == 1 and values[0] is not None else None
        if step.name not in ("MUL", "ADD") or table is None:
            return None
        if table.size != 1 and (table.size, table.shape[-1]) != (channels, channels):
            return None
        each = np.broadcast_to(table.reshape(-1), (channels,)).astype(np.float64)
        if step.name == "MUL":
            gain, offset = gain * each, offset * each
        else:
            offset = offset + each
        value = step.output
    return gain, offset


def _rewrite(graph: Graph, op: Op, affine: Affine, layers: list[Op], kept: bool) -> None:
    gain, offset = affine
    x, rows = op.operand(0), op.output
    graph.remove(op)
    for layer in layers:
        weights = layer.constant(1).astype(np.float64)
        bias = layer.constant(2).reshape(-1) if layer.input(2) is not None else 0
        bias = bias + weights @ offset
        weights = weights * gain
        if op.attrs["centered"]:
            weights -= weights.mean(1, keepdims=True)
        name = layer.operand(1).name
        inputs: list[Tensor | None] = [
            x,
            constant(f"{name}/normalizing", weights.astype(np.float32)),
            constant(f"{name}/bias", bias.astype(np.float32)) if np.any(bias) else None,
        ]
        stores = kept and layer is layers[0]
        if stores:
            for what, values in (("gain", gain), ("offset", offset)):
                inputs.append(constant(f"{rows.name}/{what}", values.astype(np.float32)))
        own = layer.core[-1].output
        outputs = (own, rows) if stores else (own,)
        attrs = {**layer.attrs, **{key: op.attrs[key] for key in ("centered", "epsilon")}}
        origins = sorted({*op.origins, *layer.core[-1].origins})
        core = Op(NAME, inputs, outputs, attrs, layer.index, origins=origins)
        epilogue, result = layer.epilogue, layer.output
        graph.remove(layer)
        if epilogue:
            graph.add(FusedOp(NAME, (core,), epilogue, (result, *outputs[1:])))
        else:
            graph.add(core)
