"""Why an operator cannot run whatever its shapes, and what would help."""

from __future__ import annotations

from ..errors import Finding
from ..frontend.op_versions import newest
from ..ir import Graph, Op, Tensor
from ..ops import OPS
from ..ops.base import FLOATS, INTEGERS

CUT = "cut the model in front of it and run the rest elsewhere"
"""What helps where nothing in the model can be changed."""

_WIDE = frozenset([*FLOATS, *INTEGERS, "bool"])
"""Types of constants that kernels take as they are, such as axes and sizes."""

_FLEX = "Flex"
"""What names of TensorFlow's operators in a .tflite file begin with."""

_BY_TYPE = {
    "string": "words have to become numbers before the model: cut it behind its strings",
    "complex64": "carry real and imaginary parts as two tensors",
    "float64": "convert the model with float32",
}


def unknown(op: Op) -> Finding | None:
    """Of an operator, or a version of one, that tflgpu does not know."""
    if op.name in OPS:
        if op.version <= newest(op.name):
            return None
        reason = f"version {op.version}; versions up to {newest(op.name)} are known"
        return Finding(op.index, op.name, reason, "convert the model for an older runtime")
    flex = op.name.startswith(_FLEX)
    advice = "convert the model with TFLITE_BUILTINS only" if flex else CUT
    return Finding(op.index, op.name, "tflgpu does not know this operator", advice)


def unknown_operators(graph: Graph) -> list[Finding]:
    """Of all operators of a graph that tflgpu does not know."""
    return [finding for op in graph.ops if (finding := unknown(op))]


def refusal(op: Op) -> Finding | None:
    """Why tflgpu has no kernel at all for an operator of this kind or these types."""
    if finding := unknown(op):
        return finding
    dtypes = OPS[op.name].dtypes
    for tensor in (*op.reads, *op.outputs):
        taken_as_it_is = tensor.constant and tensor.dtype in _WIDE
        if tensor.dtype not in dtypes and not taken_as_it_is:
            reason = f"tensor {tensor.name} is {tensor.dtype}; kernels compute in "
            return Finding(op.index, op.name, reason + ", ".join(dtypes), _advice(tensor))
    return _rescaled(op)


def _rescaled(op: Op) -> Finding | None:
    """Of parts that have to be rescaled to fit into their whole; kernels copy them as they are."""
    if op.name == "CONCATENATION":
        for tensor in op.reads:
            if tensor.quantization != op.output.quantization:
                reason = f"tensor {tensor.name} is quantized otherwise than {op.output.name}"
                return Finding(op.index, op.name, reason, _advice(op.output))
    return None


def _advice(tensor: Tensor) -> str:
    if tensor.quantization or tensor.blocks:
        return "convert the model without quantization"
    return _BY_TYPE.get(tensor.dtype, "put a CAST to one of these types in front of it")
