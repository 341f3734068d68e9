"""The accessor of a tensor, by its storage and by its layout within another tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from ...runtime.plan.storage import WORD
from ..ir import Tensor
from ..ops.base import (
    SLICED,
    StridedLayout,
    bhwc,
    element_bytes,
    element_dtype,
    halves_rows,
    kernel_dtype,
    lane_of,
    slice_bytes,
)
from ..target import Target
from .linear import LinearAccessor
from .narrow import (
    ByteAccessor,
    EightHalvesAccessor,
    FourHalvesAccessor,
    HalfAccessor,
    HalfRowsAccessor,
    HalvesAccessor,
    HalvesImageAccessor,
    JoinedHalvesAccessor,
    PackedAccessor,
    PackedRowsAccessor,
    PairsAccessor,
    ShortAccessor,
    WholeAccessor,
)
from .sliced import (
    FoursAccessor,
    ImageAccessor,
    RowsAccessor,
    SlicedAccessor,
    WholeRowsAccessor,
)

Accessor = SlicedAccessor | LinearAccessor

_SLICED: dict[str, type[SlicedAccessor]] = {
    "float32": SlicedAccessor,
    "float16": HalfAccessor,
    "uint16": ShortAccessor,
    "uint8": ByteAccessor,
}
"""The accessors of tensors in slices, by how a lane is stored."""


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
    flatten: bool = False,
    zero_point: int | None = None,
    half: bool = False,
    used: set[str] | None = None,
) -> Accessor:
    """The accessor of a tensor in the given storage, for a kernel parameter named `array`.

    `layout` is the tensor's layout within that parameter, None if it is the whole parameter. With
    `by_slices` a row-major tensor is written slice by slice; with `flatten` height and width are
    one axis. With `zero_point` floats are stored in a row-major tensor as integers, plus that
    number, as those of a tensor of whole numbers always are; with `half` the kernel computes in
    half precision. The accessor adds the intrinsics it calls to `used`. Unreachable if the layout
    has gaps where the kernel cannot skip them.
    """
    used = set() if used is None else used
    found: Accessor
    unit = element_bytes(tensor)
    narrow = element_dtype(tensor) if unit < WORD else ""
    packed = narrow and target.language.packs_bytes
    zero_point = zero_point if tensor.whole is None else -tensor.whole.row_base
    if storage == SLICED:
        lane = lane_of(tensor, target)
        kind = HalvesAccessor if half and lane.dtype == "float16" else _SLICED[lane.dtype]
        found = kind.of(array, tensor.shape, target, used)
        if isinstance(found, WholeAccessor):
            found = replace(found, least=lane.base)
        unit = slice_bytes(tensor, target)
    elif by_slices and _whole_rows(tensor, target, layout, zero_point):
        found = WholeRowsAccessor.of(array, tensor.shape, target, used)
        unit *= target.lanes
    elif by_slices:
        by_rows = PackedRowsAccessor if packed else RowsAccessor
        rows = by_rows.of(array, tensor.shape, target, used)
        found = replace(rows, zero_point=zero_point, narrow=narrow)
    elif halves_rows(tensor, target):
        found = HalfRowsAccessor.of(array, tensor.shape, target.lanes, used)
    else:
        by_elements = PackedAccessor if packed else LinearAccessor
        linear = by_elements.of(array, tensor.shape, target.lanes, used)
        whole = zero_point is None and kernel_dtype(tensor.dtype) == "int32"
        element = "int" if whole else "float"
        found = replace(linear, zero_point=zero_point, element=element, narrow=narrow)
    found = found.flattened() if flatten else found
    return found if layout is None else _strided(found, tensor, layout, unit)


def _whole_rows(
    tensor: Tensor, target: Target, layout: StridedLayout | None, zero_point: int | None
) -> bool:
    """Whether a row-major tensor can be written as an array of slices, where that helps: in
    languages that cannot store a slice in an array of floats."""
    if target.language.vector_stores or zero_point is not None:
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


def image(found: SlicedAccessor, texel: int) -> ImageAccessor:
    """The accessor of the same tensor as an image buffer with texels of `texel` bytes."""
    kind = HalvesImageAccessor if isinstance(found, HalvesAccessor) else ImageAccessor
    return kind(**{item.name: getattr(found, item.name) for item in fields(found)}, texel=texel)


def joined(found: Accessor, pixels: int, writes: bool, target: Target) -> Accessor:
    """The accessor of the same tensor by several neighbouring pixels at once, as many as possible.

    The tensor stays as it is if the language or the device do not gain by that, or if `pixels`
    pixels, or a row, are not a whole number of elements.
    """
    if not isinstance(found, SlicedAccessor):
        return found
    row = (found.extents or found.nested)[-1]
    for kind in _joining(found, writes, target):
        if not any(size % kind.together for size in (pixels, found.base, row)):
            shared = {item.name for item in fields(kind)}
            values = {name: getattr(found, name) for name in shared if hasattr(found, name)}
            return kind(**values)
    return found


def _joining(
    found: SlicedAccessor, writes: bool, target: Target
) -> Sequence[type[PairsAccessor | FoursAccessor | JoinedHalvesAccessor]]:
    """The accessors by several pixels that may replace one, those by the most pixels first."""
    if isinstance(found, HalfAccessor) and target.language.half_pair and writes:
        several = (EightHalvesAccessor, FourHalvesAccessor) if target.joined_stores else ()
        return (*several, JoinedHalvesAccessor)
    if isinstance(found, HalvesAccessor) and target.language.half_pair:
        return (PairsAccessor,)
    if type(found) is SlicedAccessor and writes and target.joined_stores:
        return (FoursAccessor,)
    return ()
