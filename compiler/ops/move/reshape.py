"""RESHAPE, SQUEEZE and EXPAND_DIMS: in row-major storage, another view of the same bytes.

tflgpu.view has the shape of its operand, and another type that the device holds alike.
"""

from collections.abc import Sequence
from math import prod

from ...ir import Array, Op, Shape
from ...target import Target
from ..base.definition import Implementation, define, row_major
from ..base.launch import Launch
from ..base.shapes import normalize_axis, same_as_first
from ..base.storage import ANY, bhwc, lane_of
from ..base.traits import Traits, always, among_operands

VIEW = "tflgpu.view"


def infer(op: Op) -> list[Shape]:
    """The shape from the second input or the attribute, with -1 resolved (ModelError)."""
    shape = op.operand(0).shape
    wanted = op.integers_in("new_shape") if op.input(1) is None else op.integers(1)
    if wanted == [0] and prod(shape) == 1:
        wanted = []  # how old converters wrote a scalar
    known = prod(size for size in wanted if size != -1)
    if wanted.count(-1) == 1 and known and prod(shape) % known == 0:
        wanted[wanted.index(-1)] = prod(shape) // known
    if any(size < 0 for size in wanted) or prod(wanted) != prod(shape):
        raise op.invalid(f"cannot reshape {list(shape)} to {wanted}")
    return [tuple(wanted)]


def infer_squeeze(op: Op) -> list[Shape]:
    """The shape without the named axes, or all axes of size 1 if none is named (ModelError)."""
    shape = op.operand(0).shape
    axes = {normalize_axis(op, axis, len(shape)) for axis in op.integers_in("squeeze_dims")}
    axes = axes or {axis for axis, size in enumerate(shape) if size == 1}
    if any(shape[axis] != 1 for axis in axes):
        raise op.invalid(f"{list(shape)} does not have size 1 along axes {sorted(axes)}")
    return [tuple(size for axis, size in enumerate(shape) if axis not in axes)]


def infer_expand_dims(op: Op) -> list[Shape]:
    shape = op.operand(0).shape
    axis = normalize_axis(op, int(op.number(1)), len(shape) + 1)
    return [(*shape[:axis], 1, *shape[axis:])]


def same_slices(op: Op, target: Target) -> str | None:
    """Why channel slices do not hold the same bytes before and after; None if they do."""
    source, result = op.operand(0), op.output
    if lane_of(source, target) != lane_of(result, target):
        return "the precision changes"
    shapes = source.shape, result.shape
    if max(map(len, shapes)) > 4:
        return "rank is above 4"
    (batch, _, _, channels), (batches, _, _, outputs) = map(bhwc, shapes)
    if channels != outputs:
        return "the number of channels changes"
    if batch != batches and channels > target.lanes:
        return "slices would move from one batch to another"
    return None


def _view(op: Op, target: Target) -> Sequence[Launch]:
    return []


# They launch nothing: the output shares the input's memory.
IMPLEMENTATIONS = (
    Implementation("view", _view, same_slices, fuses=False, is_view=True),
    row_major("view_linear", _view, fuses=False, is_view=True),
)


def reference(op: Op, x: Array, *_: Array) -> Array:
    return x.reshape(op.output.shape)


_TRAITS = Traits(always, reshapes=True, moves=True, range=among_operands)

define("RESHAPE x:U shape? -> y:U", infer, IMPLEMENTATIONS, reference, ANY, traits=_TRAITS)
define(
    "SQUEEZE x:U -> y:U", infer_squeeze, IMPLEMENTATIONS, reference, ANY, versions=2, traits=_TRAITS
)
define(
    "EXPAND_DIMS x:T axis:integer -> y:T",
    infer_expand_dims,
    IMPLEMENTATIONS,
    reference,
    ANY,
    traits=_TRAITS,
)
define(VIEW, same_as_first, IMPLEMENTATIONS, dtypes=ANY, traits=Traits(reshapes=True))
