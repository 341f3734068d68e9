"""Planes of few channels are resized one by one where they lie, as images of one channel.

    t = TRANSPOSE(x[1,3,480,640]) perm=(0,2,3,1)
    s = RESIZE_BILINEAR(t[1,480,640,3])   y = TRANSPOSE(s) perm=(0,3,1,2)
    becomes   p = RESHAPE(x) new_shape=(3,480,640,1)
              s = RESIZE_BILINEAR(p)   y = RESHAPE(s) new_shape=(1,3,224,224)

On processors, where a kernel computes slices of their rows. More channels are resized in slices of
them, as what lies where is found out once for all.
"""

from ...ir import Graph, Op
from ...ops.base.row_slices import no_row_slices
from ...ops.base.storage import slice_count
from ...ops.move.transpose import permutation
from ...target import Target
from ..decompose.decomposition import Decomposition
from ..rewrite import Attempt, Attempts, also_used, graph_rewrite

# The share of lanes in use up to which planes are faster than slices of their channels.
IN_USE = 0.75

PIXELS_FIRST, PLANES_FIRST = [0, 2, 3, 1], [0, 3, 1, 2]


@graph_rewrite()
def resize_planes(graph: Graph, target: Target) -> Attempts:
    """For every bilinear resize between two transposes of planes."""
    for op in graph.ops:
        before = graph.producer(op.operand(0)) if op.name == "RESIZE_BILINEAR" else None
        after = next(iter(graph.consumers(op.output)), None) if before is not None else None
        if before is None or after is None or not _turn_planes(before, after):
            continue
        if (yield Attempt((before, op, after), _reason(graph, op, target))):
            here = Decomposition(graph, after, target)
            batch, channels, *size = before.operand(0).shape
            planes = here.reshape(before.operand(0), (batch * channels, *size, 1))
            resized = here.add(op.name, planes, op.operand(1), **op.attrs)
            here.apply(here.reshape(resized, after.output.shape))
            graph.remove_unread([op, before])


def _turn_planes(before: Op, after: Op) -> bool:
    """Whether transposes make channels of planes and planes of channels."""
    if before.name != "TRANSPOSE" or after.name != "TRANSPOSE":
        return False
    return (permutation(before), permutation(after)) == (PIXELS_FIRST, PLANES_FIRST)


def _reason(graph: Graph, op: Op, target: Target) -> str | None:
    if graph.only_reader(op.output) is None:
        return also_used(op.output)
    channels = op.output.shape[3]
    if channels > IN_USE * target.lanes * slice_count(channels, target):
        return f"{channels} channels fill their slices"
    return no_row_slices(op, target, ())
