"""Shape inference shared by several operators."""

from collections.abc import Container

from ...ir import Op, Shape


def same_as_first(op: Op) -> list[Shape]:
    return [op.operand(0).shape]


def as_inferred(op: Op) -> list[Shape]:
    """The shapes that the outputs have already: those inferred before operators were fused."""
    return [tensor.shape for tensor in op.outputs]


def image_shape(op: Op) -> Shape:
    """The shape of the first input (ModelError unless it has rank 4)."""
    shape = op.operand(0).shape
    if len(shape) != 4:
        raise op.invalid(f"input {list(shape)} must have rank 4")
    return shape


def broadcast_shapes(op: Op) -> list[Shape]:
    """The single output has the numpy broadcast of all inputs (ModelError)."""
    return [broadcast(op, *(tensor.shape for tensor in op.inputs if tensor is not None))]


def broadcast(op: Op, *shapes: Shape) -> Shape:
    """The numpy broadcast of shapes; ModelError if they are incompatible."""
    result: list[int] = []
    for axis in range(1, max((len(shape) for shape in shapes), default=0) + 1):
        sizes = {shape[-axis] for shape in shapes if axis <= len(shape)} - {1}
        if len(sizes) > 1:
            listed = " and ".join(str(list(shape)) for shape in shapes)
            raise op.invalid(f"{listed} do not broadcast")
        result.append(sizes.pop() if sizes else 1)
    return tuple(reversed(result))


def with_ones(shape: Shape, axes: Container[int]) -> Shape:
    """A shape with size 1 along some axes."""
    return tuple(1 if axis in axes else size for axis, size in enumerate(shape))


def normalize_axis(op: Op, axis: int, rank: int) -> int:
    """The axis counted from the front; ModelError if it is out of range for the rank."""
    if not -rank <= axis < rank:
        raise op.invalid(f"axis {axis} is out of range for rank {rank}")
    return axis % rank


def second_operand_axis(op: Op) -> int:
    """The axis of the first operand that the second names, from the front (ModelError)."""
    return normalize_axis(op, int(op.number(1)), len(op.operand(0).shape))
