"""Which implementations support an operator on a target.

The reasons why others do not are kept for errors and for `tflgpu explain`.
"""

from dataclasses import dataclass

import numpy as np

from ..errors import SPLIT, Finding, UnsupportedError
from ..ir import Op, Tensor
from ..ops import OPS, Implementation
from ..ops.base.operands import operands_of
from ..ops.base.storage import FLOATS, INTEGERS, SLICED, kernel_dtype
from ..ops.buffers import too_many, too_many_in_some
from ..ops.elementwise.elementwise import ELEMENTWISE
from ..target import Target
from ..tflite_schema import OWN_PREFIX

# Types of constants, such as axes and sizes, that any operator may have.
_WIDE = frozenset([*FLOATS, *INTEGERS, "bool"])

_ADVICE_BY_TYPE = {
    "string": "split the model after the operators on strings, and pass in their numeric results",
    "complex64": "pass real and imaginary parts as two tensors",
    "float64": "convert the model with float32",
    "variant": "give lists of tensors a constant length",
}

MORE_BUFFERS = "if the device has more, choose a profile with a larger max_arguments"


@dataclass(frozen=True)
class Candidates:
    """The implementations that support an operator, and why the others do not."""

    implementations: tuple[Implementation, ...]  # Best first.
    unsupported: tuple[tuple[str, str], ...]  # (name, reason) of each other implementation.


def candidates(op: Op, target: Target, lowered: bool = False) -> Candidates:
    """The implementations of an operator that support it on a target, possibly none.

    Of an operator that is `lowered`, which rewrites only fuse from then on, they bind no more
    buffers than the device allows.
    """
    legal, unsupported = [], []
    for implementation in OPS[op.name].implementations:
        reason = _unsupported_reason(op, implementation, target)
        if reason is None and lowered:
            reason = too_many(op, implementation, target)
        if reason is None:
            legal.append(implementation)
        else:
            unsupported.append((implementation.name, reason))
    return Candidates(tuple(legal), tuple(unsupported))


def _unsupported_reason(op: Op, implementation: Implementation, target: Target) -> str | None:
    if reason := _sliced_integers(op, implementation):
        return reason
    if op.epilogue and not implementation.fuses:
        return "its kernel has no epilogue"
    return implementation.unsupported_reason(op, target)


def _sliced_integers(op: Op, implementation: Implementation) -> str | None:
    """Slices can only hold floats, also those of constants that kernels read as operands."""
    tensors: list[Tensor] = []
    if implementation.reads == SLICED:
        read = op.name in ELEMENTWISE
        tensors += [tensor for tensor in op.inputs if tensor and (read or not tensor.constant)]
    if implementation.writes == SLICED:
        tensors += [*op.outputs, *op.epilogue_inputs]
    whole = next((t for t in tensors if kernel_dtype(t.dtype) == "int32"), None)
    return f"{whole.name} is {whole.dtype}, but slices hold floats" if whole else None


# -- why an operator cannot run at all --------------------------------------------------------


def finding(op: Op, target: Target, lowered: bool = False) -> Finding | None:
    """Why an operator cannot run on a target; None if it can. `lowered` is that of `candidates`."""
    found = _newer_version(op) or _wrong_types(op) or _wide_constant(op)
    if found is not None:
        return found
    try:
        legal = candidates(op, target, lowered)
    except UnsupportedError as error:  # what should be a constant is computed
        return error.findings[0]
    if legal.implementations:
        return None
    reasons = "; ".join(f"{name}: {reason}" for name, reason in legal.unsupported)
    wide = lowered and too_many_in_some(op, target)
    advice = MORE_BUFFERS if wide else SPLIT
    return op.finding(reasons or OPS[op.name].unimplemented_reason, advice)


def _newer_version(op: Op) -> Finding | None:
    newest = OPS[op.name].versions
    if op.version <= newest or op.name.startswith(OWN_PREFIX):
        return None
    reason = f"it has version {op.version}, but only versions up to {newest} are supported"
    return op.finding(reason, "convert the model for an older TFLite runtime")


def _wrong_types(op: Op) -> Finding | None:
    definition = OPS[op.name]
    # Elementwise operators compute with constants as with any other operand.
    elementwise = op.name in ELEMENTWISE and not op.name.startswith(OWN_PREFIX)
    for tensor in (*op.reads, *op.outputs):
        as_it_is = tensor.constant and tensor.dtype in _WIDE and not elementwise
        if tensor.dtype not in definition.dtypes and not as_it_is:
            reason = f"tensor {tensor.name} is {tensor.dtype}; supported types are "
            return op.finding(reason + ", ".join(definition.dtypes), _advice(tensor))
    if definition.traits.joins:
        for tensor in op.reads:
            if tensor.quantization != op.output.quantization and not tensor.constant:
                reason = f"tensors {tensor.name} and {op.output.name} are quantized differently"
                return op.finding(reason, _advice(op.output))
    return None


def _wide_constant(op: Op) -> Finding | None:
    declared = operands_of(op)
    for tensor in declared.alike(op) if declared is not None else ():
        if tensor.dtype in ("int64", "uint32") and tensor.data is not None and tensor.data.size:
            limits = np.iinfo(np.int32)
            if tensor.data.min() < limits.min or tensor.data.max() > limits.max:
                reason = f"constant {tensor.name} holds integers of more than 32 bits"
                return op.finding(reason)
    return None


def _advice(tensor: Tensor) -> str:
    if tensor.quantization or tensor.blocks:
        return "convert the model without quantization"
    return _ADVICE_BY_TYPE.get(tensor.dtype, "cast the tensor to one of these types")
