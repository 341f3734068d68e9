"""The graph every stage works on: operators and the tensors between them."""

from .graph import (
    KERNEL_RESULT,
    Array,
    Blocks,
    Graph,
    Op,
    Post,
    Quantization,
    Shape,
    Signature,
    Tensor,
    constant,
    scalar,
)

__all__ = [
    "KERNEL_RESULT",
    "Array",
    "Blocks",
    "Graph",
    "Op",
    "Post",
    "Quantization",
    "Shape",
    "Signature",
    "Tensor",
    "constant",
    "scalar",
]
