"""A tensor that is cut in two along an axis and joined the other way round is rolled.

    a = SLICE(x), rows from 4 on   b = SLICE(x), the first 4 rows   y = CONCATENATION(a, b) axis=1
    becomes   y = tflgpu.roll(x) starts=(0,4,0,0)

Swin transformers (arXiv 2103.14030) shift their windows along rows and then along columns, which
is one roll.
"""

from ...ir import Graph, Op
from ...ops.move.concat import concat_axis
from ...ops.move.slice import SLICES, ranges
from ...ops.move.tile_and_broadcast import ROLL
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite


@graph_rewrite()
def recognize_roll(graph: Graph, target: Target) -> Attempts:
    """In execution order, so that each roll is joined with the one before it."""
    for op in graph.ops:
        halves = _halves(graph, op) if op.name == "CONCATENATION" else None
        if halves is None:
            continue
        source, starts = halves[0].operand(0), [taken.start for taken in ranges(halves[0])]
        before = [each for each in [graph.producer(source)] if each and each.name == ROLL]
        if starts[-1]:
            yield Attempt((*halves, op), "rows would be moved in pieces")
            continue
        yield Attempt((*before, *halves, op))
        for roll in before:
            source = roll.operand(0)
            further = zip(starts, roll.attrs["starts"], source.shape, strict=True)
            starts = [(one + other) % size for one, other, size in further]
        graph.set_inputs(op, (source,))
        op.name, op.attrs = ROLL, {"starts": tuple(starts)}
        graph.remove_unread(halves)


def _halves(graph: Graph, concat: Op) -> list[Op] | None:
    """The slices that a concatenation joins, if they are the end and the beginning of a tensor."""
    parts = [graph.producer(concat.operand(position)) for position in range(len(concat.inputs))]
    halves = [part for part in parts if part is not None and part.name in SLICES]
    if len(parts) != 2 or len(halves) != 2:
        return None
    end, start = halves
    source, axis = end.operand(0), concat_axis(concat)
    if start.operand(0) is not source or source.shape != concat.output.shape:
        return None
    cut = ranges(end)[axis].start
    for half, along in ((end, range(cut, source.shape[axis])), (start, range(cut))):
        whole = [range(size) for size in source.shape]
        whole[axis] = along
        if ranges(half) != whole or half.output.shape != tuple(map(len, whole)):
            return None
    return halves
