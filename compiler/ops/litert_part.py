"""A part of the model that runs on LiteRT, as one operator among those of the device.

    y = tflgpu.litert(x) part=TOPK_V2 + CAST

No rewrite looks into it and no kernel computes it: it is a step of the host. Its tensors are dense,
as the host has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from ..devices import Profile
from ..errors import Finding, ModelError, PassError, UnsupportedError
from ..frontend.tflite_schema import DTYPES
from ..frontend.writer import write
from ..ir import Graph, Op, Shape, Tensor
from ..litert.reference import result_shapes
from .base import LINEAR, Kernel, Launch, OpDef, define

LITERT = "tflgpu.litert"


@dataclass(eq=False)
class Part:
    """What the operator's attribute `part` holds: operators as the model file has them."""

    graph: Graph
    edges: tuple[Tensor, ...]
    """The tensors of `graph` that are the operator's inputs."""
    findings: tuple[Finding, ...]
    """Why each of its operators does not run on the device."""
    read_outside: tuple[bool, ...]
    """For each output, whether operators outside the part read it."""
    kept_inside: dict[str, str]
    """Tensors that no part may have at its edge, with the reason; shared with whoever cuts."""
    open: frozenset[int] = field(default=frozenset())
    """The outputs whose shapes only a run tells."""

    def file(self, op: Op) -> bytes:
        """The part as a model for the shapes and constants that its operator has as inputs.

        ModelError for a scale that is no number, PassError for options that TFLite lacks.
        """
        for edge, tensor in zip(self.edges, op.inputs, strict=True):
            assert tensor is not None
            edge.shape = tensor.shape
            edge.data = None if tensor.data is None else np.asarray(tensor.data, edge.dtype)
        self.graph.inputs = [edge for edge in self.edges if not edge.constant]
        self.graph.input_names = [edge.name for edge in self.graph.inputs]
        for tensor in self.graph.tensors:
            if tensor.quantization and not all(0 <= s < inf for s in tensor.quantization.scale):
                # LiteRT ends the process over such a one.
                raise ModelError(f"tensor {tensor.name} has the scale {tensor.quantization.scale}")
        return write(self.graph)

    def __str__(self) -> str:
        return " + ".join(op.name for op in self.graph.ops)


def host_only(graph: Graph, tensor: Tensor) -> bool:
    """Whether no kernel touches a tensor that parts on LiteRT write or read."""
    producer = graph.producer(tensor)
    touching = [*graph.consumers(tensor), *([producer] if producer else [])]
    return tensor not in graph.kept and all(op.name == LITERT for op in touching)


def is_open(op: Op, tensor: Tensor) -> bool:
    """Whether only a run tells the shape of an operator's output."""
    part = op.attrs.get("part") if op.name == LITERT else None
    return isinstance(part, Part) and op.outputs.index(tensor) in part.open


def _infer(op: Op) -> Sequence[Shape]:
    """Shapes as LiteRT gives them (UnsupportedError if it refuses the part, or gives none).

    PassError is what the writer says of options that the model file has and TFLite lacks.
    """
    part: Part = op.attrs["part"]
    try:
        shapes = result_shapes(part.file(op))
    except (ModelError, PassError) as error:
        findings = [
            Finding(item.index, item.operator, f"{item.reason}; {error}", item.advice)
            for item in part.findings
        ]
        raise UnsupportedError(findings) from error
    part.open = frozenset(i for i, shape in enumerate(shapes) if shape is None)
    crossing = [op.outputs[i] for i in sorted(part.open) if part.read_outside[i]]
    for tensor in crossing:
        part.kept_inside[tensor.name] = "its shape is known only while the model runs"
    if crossing:
        raise UnsupportedError(part.findings)
    known = zip(op.outputs, shapes, strict=True)
    return [tensor.shape if shape is None else shape for tensor, shape in known]


def _build(op: Op, profile: Profile) -> list[Launch]:
    reads = {f"x{i}": t for i, t in enumerate(op.inputs) if t is not None and not t.constant}
    writes = {f"y{i}": tensor for i, tensor in enumerate(op.outputs)}
    return [Launch("", (1, 1, 1), reads, writes, group=(1, 1, 1))]


define(
    OpDef(
        LITERT,
        _infer,
        (Kernel("litert", _build, reads=LINEAR, writes=LINEAR, fuses=False),),
        dtypes=tuple(DTYPES.values()),
    )
)
