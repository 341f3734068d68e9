"""Groups of channels are normalized without reshapes, so that gain and offset fuse.

    r = RESHAPE(x[1,64,64,128]) new_shape=(1,4096,32,4)   n = tflgpu.normalization(r) axes=(1,3)
    m = MUL(n, gain[32,4])   y = RESHAPE(m) new_shape=(1,64,64,128)
    becomes   n = tflgpu.normalization(x) axes=(1,3) shape=(1,4096,32,4)
              g = RESHAPE(gain) new_shape=(128,)   y = MUL(n, g)

Gain and offset are behind the second reshape, or, as Keras has them, before it.
"""

from ...ir import Graph, Op, Shape, Tensor
from ...ops import RESHAPES
from ...ops.reduce.normalization import NAME, shape_normalized
from ...target import Target
from ..decompose.decomposition import Decomposition
from ..rewrite import Attempt, Attempts, graph_rewrite

AFFINE = ("ADD", "MUL", "SUB")  # What gains and offsets are applied by.


@graph_rewrite()
def normalize_groups(graph: Graph, target: Target) -> Attempts:
    """Of rows that become others."""
    for op in graph.ops:
        before = graph.producer(op.operand(0)) if op.name == NAME else None
        if before is None or before.name not in RESHAPES:
            continue
        source, values = before.operand(0), op.operand(0)
        steps = _steps(graph, op, source.shape) if source.shape else []
        if not steps or graph.only_reader(values) is not op:
            continue
        ragged = target.on_processor and source.shape[-1] % target.lanes
        reason = f"rows of {source.shape[-1]} elements are not whole slices" if ragged else None
        if (yield Attempt((before, op, *steps), reason)):
            here = Decomposition(graph, steps[-1], target)
            here.apply(_build(here, before, [op, *steps[:-1]]))


def _steps(graph: Graph, op: Op, whole: Shape) -> list[Op]:
    """What applies gains and offsets of channels, and the reshape that joins rows again, if any."""
    steps: list[Op] = []
    value = op.output
    while (step := graph.only_reader(value)) is not None and step.name in AFFINE:
        others = [each for each in step.reads if each is not value]
        if len(others) != 1 or not _of_channels(others[0], value.shape, whole[-1]):
            return []
        steps.append(step)
        value = step.output
    if step is None or step.name not in RESHAPES or step.output.shape != whole:
        return []
    return [*steps, step] if whole[-1:] != value.shape[-1:] else []


def _of_channels(tensor: Tensor, cut: Shape, channels: int) -> bool:
    """Whether an operand has one element, or one for each channel of groups."""
    if tensor.elements == 1:
        return True
    return tensor.elements == channels and tensor.shape[-2:] == cut[-2:]


def _build(here: Decomposition, before: Op, steps: list[Op]) -> Tensor:
    """What operators between two reshapes compute in the shape before the first."""
    value, read = before.operand(0), before.output
    for each in steps:
        own = {"shape": shape_normalized(each)} if each is steps[0] else {}
        operands = (
            value if one is read else here.reshape(one, (one.elements,)) for one in each.reads
        )
        value, read = here.add(each.name, *operands, **{**each.attrs, **own}), each.output
    return value
