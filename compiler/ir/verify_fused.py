"""What must hold of a fused operator."""

from collections.abc import Container

from ..errors import ModelError
from .op import FusedOp
from .tensor import Tensor


def verify_fused(op: FusedOp, graph: Container[Tensor]) -> None:
    """ModelError unless values flow forward within a fused operator and leave it as outputs."""
    computed: set[Tensor] = set()
    outside = set(op.reads)
    for inner in op.ops:
        for tensor in inner.reads:
            if tensor not in computed and tensor not in outside:
                raise ModelError(f"{inner!r} in {op!r} reads {tensor.name} before it is computed")
        computed.update(inner.outputs)
    if not op.core or computed & outside:
        raise ModelError(f"{op!r} reads its own results, or has no core")
    last = not op.epilogue or op.output is op.epilogue[-1].output
    if not last or not computed.issuperset(op.outputs):
        raise ModelError(
            f"{op!r} does not compute all of its outputs, or its first output is not the "
            f"result of its last operator"
        )
    for tensor in computed.difference(op.outputs):
        if tensor in graph:
            raise ModelError(f"{tensor.name} is used outside {op!r}, which does not store it")
    for inner in op.epilogue:
        if inner.output.shape != op.output.shape:
            raise ModelError(
                f"{inner!r} in the epilogue of {op!r} has the shape {list(inner.output.shape)} "
                f"instead of {list(op.output.shape)}"
            )
