"""The intermediate representation every stage works on: a graph of operators and tensors.

The frontend builds it, rewrites change it, and later stages read it.
"""

from .fused import FusedOp, fuse
from .graph import Graph, Signature
from .op import Op, Origin, copies
from .tensor import (
    WHOLE_BITS,
    Array,
    Blocks,
    Deferred,
    Quantization,
    Shape,
    Tensor,
    Whole,
    constant,
    extent,
)
