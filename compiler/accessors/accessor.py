"""The accessor of a tensor, by its storage and by its layout within another tensor."""

from __future__ import annotations

from dataclasses import fields, replace

from ...runtime.plan.storage import device_dtype, item_size
from ..ir import Tensor
from ..ops.base import SLICED, StridedLayout, halves_rows, kernel_dtype, lane_of, slice_bytes
from ..target import Target
from .linear import LinearAccessor
from .narrow import (
    ByteAccessor,
    HalfAccessor,
    HalfRowsAccessor,
    HalvesAccessor,
    HalvesImageAccessor,
    PackedAccessor,
    PackedRowsAccessor,
    ShortAccessor,
    WholeAccessor,
)
from .sliced import ImageAccessor, RowsAccessor, SlicedAccessor

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
    number; with `half` the kernel computes in half precision. The accessor adds the intrinsics it
    calls to `used`. Unreachable if the layout has gaps where the kernel cannot skip them.
    """
    used = set() if used is None else used
    found: Accessor
    unit = item_size(tensor.dtype)
    narrow = device_dtype(tensor.dtype) if unit == 1 else ""
    packed = narrow and target.language.packs_bytes
    if storage == SLICED:
        lane = lane_of(tensor, target)
        kind = HalvesAccessor if half and lane.dtype == "float16" else _SLICED[lane.dtype]
        found = kind.of(array, tensor.shape, target, used)
        if isinstance(found, WholeAccessor):
            found = replace(found, least=lane.base)
        unit = slice_bytes(tensor, target)
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
