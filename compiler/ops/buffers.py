"""How many buffers the kernels of an operator bind, of which a device allows only so many."""

from ..ir import Op, Tensor
from ..target import Target
from .base.definition import OPS, Implementation
from .base.launch import Launch
from .base.storage import kernel_dtype
from .elementwise.elementwise import read_in_store


def joins_constants(tensor: Tensor) -> bool:
    """Whether an operand of the epilogue joins the constants; integers have their own buffer."""
    return tensor.constant and tensor.number is None and kernel_dtype(tensor.dtype) == "float32"


def most_buffers(op: Op) -> int:
    """A bound for `buffers` that takes no launch: one for each tensor, and one for constants."""
    return len(op.reads) + len(op.outputs) + 1


def buffers(op: Op, launch: Launch, implementation: Implementation) -> int:
    """How many buffers a kernel binds where none of them holds several tensors."""
    operands = {tensor for tensor in read_in_store(op) if tensor.number is None}
    constants = {tensor for tensor in operands if joins_constants(tensor)}
    read = set(launch.reads.values()) if implementation.reads == implementation.operands else set()
    early = op.early_outputs if op.output in launch.writes.values() else ()
    return sum(
        (
            *(len(launch.reads), len(launch.packed), len(operands - constants - read)),
            *(bool(launch.constants or constants), len(launch.writes), len(early)),
        )
    )


def too_many(op: Op, implementation: Implementation, target: Target) -> str | None:
    """Why the device has too few buffers for an implementation; None if it has enough."""
    limit = target.device.max_arguments
    if most_buffers(op) <= limit:
        return None
    # A part for LiteRT is a launch without a kernel.
    launches = (launch for launch in implementation.launches(op, target) if launch.template)
    needed = max((buffers(op, launch, implementation) for launch in launches), default=0)
    if needed <= limit:
        return None
    return f"the kernel would need {needed} buffers, but the device allows {limit}"


def too_many_in_some(op: Op, target: Target) -> str | None:
    """Why the device has too few buffers for an implementation that else suits an operator."""
    if most_buffers(op) <= target.device.max_arguments:
        return None
    suited = (i for i in OPS[op.name].implementations if i.unsupported_reason(op, target) is None)
    return next(filter(None, (too_many(op, each, target) for each in suited)), None)
