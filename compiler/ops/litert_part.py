"""tflgpu.litert: a part of the model that runs on LiteRT, as one operator of the graph.

    y = { v, i = TOPK_V2(t, k) | y = CAST(v) }

No rewrite looks inside and no kernel computes it: the host runs it between two dispatches. Its
tensors are row-major, as on the host.
"""

from ..ir import Graph, Op, Tensor
from ..target import Target
from ..tflite_schema import DTYPES
from .base.definition import define, row_major
from .base.launch import Launch
from .base.shapes import as_inferred

LITERT = "tflgpu.litert"


def host_only(graph: Graph, tensor: Tensor) -> bool:
    """Whether only parts on LiteRT touch a tensor, and no kernel does."""
    producer = graph.producer(tensor)
    touching = [*graph.consumers(tensor), *([producer] if producer else [])]
    return tensor not in graph.kept and all(op.name == LITERT for op in touching)


def _build(op: Op, target: Target) -> Launch:
    """A launch without a kernel, which tells memory planning what the part reads and writes."""
    reads = {f"x{i}": t for i, t in enumerate(op.inputs) if t is not None and not t.constant}
    writes = {f"y{i}": tensor for i, tensor in enumerate(op.outputs)}
    return Launch("", (1, 1, 1), reads, writes, group=(1, 1, 1))


define(
    LITERT, as_inferred, (row_major("litert", _build, fuses=False),), dtypes=tuple(DTYPES.values())
)
