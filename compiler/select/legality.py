"""Which operators can run on a device, and with which implementations.

Every reason why one cannot is kept, for the error and for `tflgpu explain`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import Finding
from ..frontend.tflite_schema import OWN_PREFIX
from ..ir import Op, Tensor
from ..ops import OPS, Implementation
from ..ops.base import FLOATS, INTEGERS, SLICED, device_dtype
from ..target import Target

CUT = "cut the model in front of it and run the rest elsewhere"
"""What helps where nothing in the model can be changed."""

_WIDE = frozenset([*FLOATS, *INTEGERS, "bool"])
"""Types of constants that kernels take as they are, such as axes and sizes."""

_FLEX = "Flex"
"""What names of TensorFlow's operators in a .tflite file begin with."""

_ADVICE_BY_TYPE = {
    "string": "turn strings into numbers before the model: cut it behind the operators on strings",
    "complex64": "carry real and imaginary parts as two tensors",
    "float64": "convert the model with float32",
}


@dataclass(frozen=True)
class Candidates:
    """The implementations that can compute an operator, best first, and why others cannot."""

    implementations: tuple[Implementation, ...]
    unsupported: tuple[tuple[str, str], ...]
    """Names of the other implementations, each with its reason."""


def candidates(op: Op, target: Target) -> Candidates:
    """The implementations of an operator on a target, which may be none."""
    legal, unsupported = [], []
    for implementation in OPS[op.name].implementations:
        reason = _unsupported_reason(op, implementation, target)
        if reason is None:
            legal.append(implementation)
        else:
            unsupported.append((implementation.name, reason))
    return Candidates(tuple(legal), tuple(unsupported))


def _unsupported_reason(op: Op, implementation: Implementation, target: Target) -> str | None:
    if reason := _sliced_integers(op, implementation):
        return reason
    if op.epilogue and not implementation.fuses:
        return "it has no epilogue"
    return implementation.unsupported_reason(op, target)


def _sliced_integers(op: Op, implementation: Implementation) -> str | None:
    """Only floats are stored in slices."""
    tensors: list[Tensor] = []
    if implementation.reads == SLICED:
        tensors += [tensor for tensor in op.inputs if tensor and not tensor.constant]
    if implementation.writes == SLICED:
        tensors += [*op.outputs, *op.epilogue_inputs]
    whole = next((t for t in tensors if device_dtype(t.dtype) == "int32"), None)
    return f"{whole.name} is {whole.dtype}; slices hold floats" if whole else None


# -- why an operator cannot run at all --------------------------------------------------------


def finding(op: Op, target: Target) -> Finding | None:
    """Why an operator cannot run on a target as it is, with what would help; None if it can."""
    found = unknown(op) or _wrong_types(op)
    if found is not None:
        return found
    legal = candidates(op, target)
    if legal.implementations:
        return None
    reasons = "; ".join(f"{name}: {reason}" for name, reason in legal.unsupported)
    return Finding(op.index, op.name, reasons or OPS[op.name].unimplemented_reason, CUT)


def unknown(op: Op) -> Finding | None:
    """Of an operator, or a version of one, that tflgpu does not know."""
    if op.name not in OPS:
        flex = op.name.startswith(_FLEX)
        advice = "convert the model with TFLITE_BUILTINS only" if flex else CUT
        return Finding(op.index, op.name, "tflgpu does not know this operator", advice)
    newest = OPS[op.name].versions
    if op.version <= newest or op.name.startswith(OWN_PREFIX):
        return None
    reason = f"version {op.version}; versions up to {newest} are known"
    return Finding(op.index, op.name, reason, "convert the model for an older runtime")


def _wrong_types(op: Op) -> Finding | None:
    definition = OPS[op.name]
    for tensor in (*op.reads, *op.outputs):
        as_it_is = tensor.constant and tensor.dtype in _WIDE
        if tensor.dtype not in definition.dtypes and not as_it_is:
            reason = f"tensor {tensor.name} is {tensor.dtype}; kernels compute in "
            return Finding(
                op.index, op.name, reason + ", ".join(definition.dtypes), _advice(tensor)
            )
    if definition.traits.joins:
        for tensor in op.reads:
            if tensor.quantization != op.output.quantization and not tensor.constant:
                reason = (
                    f"tensor {tensor.name} and tensor {op.output.name} are quantized differently"
                )
                return Finding(op.index, op.name, reason, _advice(op.output))
    return None


def _advice(tensor: Tensor) -> str:
    if tensor.quantization or tensor.blocks:
        return "convert the model without quantization"
    return _ADVICE_BY_TYPE.get(tensor.dtype, "put a CAST to one of these types in front of it")
