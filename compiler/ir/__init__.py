"""The graph every stage works on: operators, alone or fused, and the tensors between them."""

from .graph import Graph, Signature
from .op import FusedOp, Op, Origin, copies, fuse
from .tensor import Array, Blocks, Centered, Quantization, Shape, Tensor, constant, scalar
from .text import line

__all__ = [
    "Array",
    "Blocks",
    "Centered",
    "FusedOp",
    "Graph",
    "Op",
    "Origin",
    "Quantization",
    "Shape",
    "Signature",
    "Tensor",
    "constant",
    "copies",
    "fuse",
    "line",
    "scalar",
]
