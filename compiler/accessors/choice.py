"""The accessor of a tensor, by its storage and by its layout within another tensor."""

from dataclasses import replace

from ...runtime.plan.storage import WORD
from ..ir import Tensor
from ..ops.base.storage import (
    SLICED,
    bhwc,
    element_bytes,
    element_dtype,
    halves_rows,
    kernel_dtype,
    lane_of,
    slice_bytes,
)
from ..ops.base.view import StridedLayout
from ..target import Target
from .accessor import Accessor
from .codecs import Floats, Half, HalfNumbers, Numbers, Packed, slice_codec
from .linear import Linear
from .memory import Buffer
from .rows import Rows, SlicesOfRows
from .sliced import Sliced


class Unreachable(Exception):
    """A kernel cannot access a tensor with this layout; the message says why."""


def accessor(
    array: str,
    tensor: Tensor,
    storage: str,
    target: Target,
    layout: StridedLayout | None = None,
    *,
    by_slices: bool = False,
    whole_slices: bool = False,
    flatten: bool = False,
    zero_point: int | None = None,
    half: bool = False,
    used: set[str] | None = None,
) -> Accessor:
    """The accessor of a tensor in the given storage, for a kernel parameter named `array`.

    `layout` is the tensor's layout within that parameter, None if it is the whole parameter. With
    `by_slices` a row-major tensor is written slice by slice, with `whole_slices` it is read so;
    with `flatten` height and width are one axis. With `zero_point` floats are stored in a row-major
    tensor as integers, plus that number, as those of a tensor of whole numbers always are; with
    `half` the kernel computes in half precision. The accessor adds the intrinsics it calls to
    `used`. Unreachable if the layout has gaps where the kernel cannot skip them.
    """
    memory = Buffer(array, target.language, target.lanes, set() if used is None else used)
    found: Accessor
    unit = element_bytes(tensor)
    zero_point = zero_point if tensor.whole is None else -tensor.whole.row_base
    if storage == SLICED:
        found = Sliced.of(memory, slice_codec(lane_of(tensor, target), half), tensor.shape)
        unit = slice_bytes(tensor, target)
    elif (by_slices or whole_slices) and _whole_rows(tensor, target, layout, zero_point):
        codec = Half() if halves_rows(tensor, target) else Floats()
        found = SlicesOfRows.of(memory, codec, tensor.shape)
        unit *= target.lanes
    elif by_slices:
        found = Rows.of(memory, _numbers(tensor, target, zero_point, "float"), tensor.shape)
    elif halves_rows(tensor, target):
        found = Linear(memory, HalfNumbers(), tensor.shape)
    else:
        whole = zero_point is None and kernel_dtype(tensor.dtype) == "int32"
        numbers = _numbers(tensor, target, zero_point, "int" if whole else "float")
        found = Linear(memory, numbers, tensor.shape)
    found = found.flattened() if flatten else found
    return found if layout is None else _strided(found, tensor, layout, unit)


def _numbers(tensor: Tensor, target: Target, zero_point: int | None, element: str) -> Numbers:
    narrow = element_dtype(tensor) if element_bytes(tensor) < WORD else ""
    codec = Packed if narrow and target.language.packs_bytes else Numbers
    return codec(element, zero_point, narrow)


def _whole_rows(
    tensor: Tensor, target: Target, layout: StridedLayout | None, zero_point: int | None
) -> bool:
    """Whether a row-major tensor can be accessed as an array of slices, where that helps: in
    languages that cannot load or store a slice in an array of floats, and for halves."""
    helps = halves_rows(tensor, target) or not target.language.vector_stores
    if not helps or zero_point is not None:
        return False
    places = () if layout is None else (layout.start, layout.pitch, layout.length)
    whole = bhwc(tensor.shape)[3] % target.lanes == 0 and kernel_dtype(tensor.dtype) == "float32"
    return whole and not any(place % (element_bytes(tensor) * target.lanes) for place in places)


def _strided(found: Accessor, tensor: Tensor, layout: StridedLayout, unit: int) -> Accessor:
    """The accessor of a tensor with a layout; an array element has `unit` bytes."""
    if layout.start % unit or layout.pitch % unit:
        raise Unreachable(f"{tensor.name} would start within a slice or an element")
    found = replace(found, base=layout.start // unit)
    if layout.contiguous:
        return found
    spread = found.in_runs(layout.length // unit, layout.pitch // unit)
    if spread is None:
        raise Unreachable(f"a kernel cannot skip the gaps that {tensor.name} would have")
    return spread
