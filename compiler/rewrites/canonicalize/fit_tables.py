"""Tables in the file, such as positions or a mask, fitted to inputs of other sizes.

A table along an axis is cut to its first entries if the caller allows it: the compiler cannot know
that they are the right ones.
"""

from collections.abc import Iterator

from ...errors import ModelError
from ...ir import Array, Graph, Op, Tensor
from ...ir.sizes import Size, by_now, in_file, is_changed


def unclear(op: Op, what: str) -> ModelError:
    """The error for an operator whose meaning for other sizes is not known."""
    return op.invalid(f"it {what}; what that is for inputs of other sizes is not clear")


def tables(graph: Graph, op: Op) -> Iterator[tuple[int, Array]]:
    """Constants beside operands of other sizes; their last axes are the same."""
    for position, tensor in enumerate(op.inputs):
        if tensor is None or tensor.data is None:
            continue
        content = tensor.data
        for axis in range(content.ndim):
            size = _size_beside(graph, op, content.ndim - axis, content.shape[axis])
            if size is not None and content.shape[axis] == in_file(size) != 1:
                content = _cut(graph, op, tensor, content, axis, size)
        if content is not tensor.data:
            yield position, content


def _size_beside(graph: Graph, op: Op, place: int, filed: int) -> Size | None:
    """The changed size of the axis `place` from the end, as other operands have it.

    If none has it, it may be that of an input of the model, as for the rows of a mask.
    """
    others = [tensor for tensor in op.reads if tensor.data is None]
    known = [graph.resized.sizes.get(tensor, ()) for tensor in others]
    aligned = [sizes[-place] for sizes in known if place <= len(sizes)]
    changed = [size for size in aligned if is_changed(size)]
    if changed:
        return max(changed, key=in_file)
    if any(place <= len(tensor.shape) and tensor.shape[-place] != 1 for tensor in others):
        return None
    inputs = [size for tensor in graph.inputs for size in graph.resized.sizes.get(tensor, ())]
    same = [size for size in inputs if is_changed(size) and in_file(size) == filed]
    return same[0] if same else None


def joined_tables(graph: Graph, op: Op) -> Iterator[tuple[int, Array]]:
    """Constants joined to operands of other sizes; along a batch of one they are repeated."""
    known = graph.resized.sizes
    sizes = next(known[tensor] for tensor in op.reads if tensor in known)
    joined = op.attrs.get("axis", 0) % len(sizes)
    for position, tensor in enumerate(op.inputs):
        if tensor is None or tensor.data is None:
            continue
        content = tensor.data
        for axis, size in enumerate(sizes):
            if axis != joined and is_changed(size) and content.shape[axis] == in_file(size):
                if in_file(size) == 1:
                    content = content.repeat(by_now(size), axis)
                else:
                    content = _cut(graph, op, tensor, content, axis, size)
        if content is not tensor.data:
            yield position, content


def _cut(graph: Graph, op: Op, tensor: Tensor, content: Array, axis: int, size: Size) -> Array:
    """The first entries along an axis (ModelError if they may not be the right ones)."""
    table = f"has a table of {list(tensor.shape)}"
    count = by_now(size)
    if count > in_file(size):
        raise op.invalid(f"it {table}, too few entries for a size of {count}")
    if len([factor for factor in size if factor.changed]) > 1:
        raise unclear(op, f"{table} for several axes together")
    if not graph.resized.cut_tables:
        raise op.invalid(
            f"it {table} for the size {in_file(size)}, which is {count} now; if the first {count} "
            f"entries are right, as those of positions and masks are, compile with --cut-tables"
        )
    return content.take(range(count), axis)
