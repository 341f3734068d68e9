"""Operators kept in single precision: what users name, and the tensors that are stored so."""

from collections.abc import Collection, Sequence

import numpy as np

from ...runtime.errors import TflgpuWarning
from ..errors import OptionError
from ..ir import Array, Graph, Op
from ..ops.base.storage import fits_half
from ..telling import tell


def kept_operators(graph: Graph, wanted: Sequence[str | int]) -> frozenset[int]:
    """Indices of the operators in the model file to keep in single precision.

    `wanted` has names and indices of operators, and names of tensors, which stand for the operator
    that computes them; OptionError if one matches nothing.
    """
    kept: set[int] = set()
    for item in wanted:
        matched = [
            op.index
            for op in graph.ops
            if item in (op.name, op.index) or item in [tensor.name for tensor in op.outputs]
        ]
        if not matched and item == "auto":
            raise OptionError(
                "keep_f32='auto' is for compile, tune and verify, which search; name the operators "
                "that `tflgpu compile` has found"
            )
        if not matched:
            raise OptionError(
                f"keep_f32: the model has no operator or computed tensor {item!r}; `tflgpu verify "
                f"--precision f16 --layers` lists the tensors"
            )
        kept.update(matched)
    return frozenset(kept)


def keep(graph: Graph, kept: Collection[int]) -> None:
    """Mark the tensors that stay in single precision.

    These are what kept operators of the model file read and write, and constants that half
    precision cannot hold, of which a TflgpuWarning tells. An operator computed by one kernel with a
    kept one is kept, too.
    """
    for op in graph.ops:
        single = any(origin.index in kept for origin in op.origins)
        for tensor in (*op.reads, *op.outputs):
            data = tensor.data
            beyond = data is not None and data.dtype.kind == "f" and not fits_half(data)
            tensor.kept = tensor.kept or single or beyond
            # A single number is often a limit, which nothing reaches.
            if data is not None and beyond and not single and data.size > 1:
                _warn(op, tensor.name, data)


def _warn(op: Op, name: str, data: Array) -> None:
    largest = np.abs(data[np.isfinite(data)]).max()
    text = (
        f"operator {op!r}: the constant {name} has values up to {largest:.3g}, and half precision "
        f"holds 65504; it stays in single precision, but results may overflow: see "
        f"`tflgpu verify --precision f16 --layers`, and keep the operator with keep_f32"
    )
    tell(TflgpuWarning(text))
