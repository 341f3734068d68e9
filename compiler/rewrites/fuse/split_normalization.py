"""A normalization of images becomes two kernels if single work-items, or groups, would take long.

    y = tflgpu.normalization(x[1,64,64,320]) axes=(1,2,3)
    becomes   s = tflgpu.pixel_statistics(x) parts=2
              y = tflgpu.normalize_pixels(x, s) axes=(1,2,3)

On GPUs a work-group normalizes whole images, or single channels of them, unless that leaves most of
the device idle. On processors a work-item takes as many groups as fill a few slices.
"""

from ...ir import Graph, Op, Tensor
from ...ops.base.storage import slice_count
from ...ops.reduce.lines import group_size
from ...ops.reduce.normalization import NAME, items_of_groups, pixel_groups
from ...ops.reduce.normalization_steps import NORMALIZE, STATISTICS, parts_of
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite

# Slices for each work-item of a group on a GPU, at most, if groups leave work-items idle.
MOST_SLICES = 128

MOST_ELEMENTS = 1 << 14  # Elements for each work-item of a processor, at most, if there are few.
FEW = 4  # Fewer work-items than this part of those that keep a processor busy are few.


@graph_rewrite()
def split_normalization(graph: Graph, target: Target) -> Attempts:
    """Before elementwise operators are fused with the second kernel."""
    for op in graph.ops:
        sizes = pixel_groups(op) if op.name == NAME else None
        if sizes is not None:
            reason = None if op.attrs["centered"] else "no mean is subtracted"
            if (yield Attempt((op,), reason or _fast_enough(op, target, *sizes))):
                _split(graph, op, target)


def _fast_enough(
    op: Op, target: Target, batches: int, pixels: int, groups: int, size: int
) -> str | None:
    """Why one kernel does not take longer; None if it does."""
    if target.on_processor:
        items = items_of_groups(op, target)
        enough = FEW * items >= target.device.work_items
        enough = enough or op.output.elements <= MOST_ELEMENTS * items
        return f"{items} work-items normalize it fast" if enough else None
    if size > 1 and groups > 1:
        return None
    slices = slice_count(groups * size, target)
    results, each = (batches, slices) if size > 1 else (batches * slices, 1)
    group_items = group_size(pixels, target)
    busy = (
        group_items * results >= target.device.work_items
        or pixels * each <= MOST_SLICES * group_items
    )
    return f"{results} work-groups of {group_items} work-items normalize it fast" if busy else None


def _split(graph: Graph, op: Op, target: Target) -> None:
    x = op.operand(0)
    batch, *_, channels = x.shape
    slices = batch * slice_count(channels, target)
    parts = parts_of(x.elements // (batch * channels), slices, target)
    shape = (batch, 1, 2 * parts, channels)
    statistics = Tensor(f"{op.output.name}/statistics", shape, kept=True)
    graph.add(Op(STATISTICS, (x,), (statistics,), {"parts": parts}, op.index))
    graph.set_inputs(op, (x, statistics))
    op.name = NORMALIZE
