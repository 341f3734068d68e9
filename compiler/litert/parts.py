"""Operators that run beside the device: as the model file of a part, or as a caller's function."""

import io
from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np

from ...runtime.plan.limits import HOST_TYPES
from ...runtime.plan.operands import OPERANDS, OPTIONS, constant_name
from ..errors import ModelError, OptionError
from ..frontend.operator_options import referred
from ..frontend.writer import write
from ..ir import FusedOp, Graph, Op, Tensor
from ..ops.litert_part import LITERT


def part_inputs(graph: Graph, op: Op) -> list[Tensor]:
    """The inputs of a part: the tensors it reads, except constants and its own variables."""
    read = dict.fromkeys(op.reads)
    return [t for t in read if not t.constant and (not t.variable or t in graph.inputs)]


def part_file(graph: Graph, op: Op) -> bytes:
    """The model file of a part.

    ModelError for an invalid quantization scale, PassError for options that TFLite lacks.
    """
    part = Graph(f"part {op.index}")
    for inner in op.core:
        part.add(inner)
    part.inputs = part_inputs(graph, op)
    part.input_names = [tensor.name for tensor in part.inputs]
    part.outputs = list(op.outputs)
    part.output_names = [tensor.name for tensor in part.outputs]
    part.subgraphs = referred(op.core, graph.subgraphs)
    for tensor in part.tensors:
        if tensor.quantization and not all(0 <= s < inf for s in tensor.quantization.scale):
            # LiteRT would abort the process.
            raise ModelError(
                f"tensor {tensor.name} has the invalid quantization scale "
                f"{tensor.quantization.scale}"
            )
    return write(part)


def named_operators(graph: Graph, names: Sequence[str]) -> list[Op]:
    """The operators with these names (OptionError if there are none with one of them)."""
    for name in names:
        if all(op.name != name for op in graph.ops):
            present = ", ".join(sorted({op.name for op in graph.ops}))
            raise OptionError(
                f"custom_ops: the model has no operator {name!r}; it has {len(graph)}: {present}"
            )
    return [op for op in graph.ops if op.name in names]


def host(graph: Graph, ops: Sequence[Op]) -> None:
    """Make each operator a part of its own (UnsupportedError if it cannot be one).

    A result of rank 0 that only the caller reads may have any shape: files of operators whose
    shapes are not known while converting say no more.
    """
    for op in ops:
        for tensor in (*op.reads, *op.outputs):
            if tensor.dtype not in HOST_TYPES or (tensor.constant and tensor.dtype == "string"):
                reason = f"a function cannot be given {tensor.name}, of type {tensor.dtype}"
                raise op.unsupported(reason)
        for tensor in op.outputs:
            tensor.dynamic = not tensor.shape and not graph.consumers(tensor)
        graph.remove(op)
        graph.add(FusedOp(LITERT, (op,), (), op.outputs))


def function_file(graph: Graph, op: Op) -> bytes:
    """What the part of one operator needs beside its inputs, as an archive of numpy arrays."""
    (inner,) = op.core
    places = {tensor: place for place, tensor in enumerate(part_inputs(graph, op))}
    operands = [-1 if tensor is None else places.get(tensor, -1) for tensor in inner.inputs]
    arrays: dict[str, Any] = {
        OPERANDS: np.array(operands, np.int32),
        OPTIONS: np.frombuffer(inner.attrs.get("custom_options", b""), np.uint8),
    }
    for position, tensor in enumerate(inner.inputs):
        if tensor is not None and tensor.data is not None:
            arrays[constant_name(position)] = np.asarray(tensor.data, tensor.dtype)
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()
