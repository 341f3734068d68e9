"""Which accessor a tensor needs: by its storage, and by how it lies within another tensor."""

from __future__ import annotations

from dataclasses import fields, replace

from ..ir import Tensor
from ..ops.base import SLICED, StridedLayout, device_dtype
from ..target import Target
from .linear import LinearAccessor
from .sliced import HalfAccessor, ImageAccessor, RowsAccessor, SlicedAccessor

Accessor = SlicedAccessor | LinearAccessor


class Unreachable(Exception):
    """No kernel can reach a tensor that lies like this within another; the text says why."""


def accessor(
    array: str,
    tensor: Tensor,
    storage: str,
    target: Target,
    layout: StridedLayout | None = None,
    *,
    by_slices: bool = False,
    flatten: bool = False,
    used: set[str] | None = None,
) -> Accessor:
    """How a kernel reaches a tensor in that storage.

    With a `layout`, the kernel gets more than the tensor, in which it lies like this. `by_slices`
    says that a row-major tensor is written slice by slice, `flatten` that height and width are
    taken as one axis. Raises Unreachable if the layout has gaps where the kernel expects none.
    """
    used = set() if used is None else used
    found: Accessor
    unit = 4
    if storage == SLICED:
        kind = HalfAccessor if target.half else SlicedAccessor
        found = kind.of(array, tensor.shape, target, used)
        unit = target.slice_bytes
    elif by_slices:
        found = RowsAccessor.of(array, tensor.shape, target, used)
    else:
        found = LinearAccessor.of(array, tensor.shape, target.lanes, used)
        if device_dtype(tensor.dtype) == "int32":
            found = replace(found, element="int")
    found = found.flattened() if flatten else found
    return found if layout is None else _strided(found, tensor, layout, unit)


def _strided(found: Accessor, tensor: Tensor, layout: StridedLayout, unit: int) -> Accessor:
    """The accessor of a tensor in runs of bytes; an element has `unit` bytes."""
    if layout.start % unit or layout.pitch % unit:
        raise Unreachable(f"{tensor.name} would start amid a slice")
    found = replace(found, base=layout.start // unit)
    if layout.contiguous:
        return found
    spread = found.in_runs(layout.length // unit, layout.pitch // unit)
    if spread is None:
        raise Unreachable(f"a kernel goes along {tensor.name} across the gaps it would have")
    return spread


def image(found: SlicedAccessor, texel: int) -> ImageAccessor:
    """The same tensor as an image, of texels of that many bytes."""
    return ImageAccessor(
        **{item.name: getattr(found, item.name) for item in fields(found)}, texel=texel
    )
