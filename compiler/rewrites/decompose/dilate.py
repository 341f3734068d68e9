"""Values between the elements of a tensor: paddings of axes of size 1."""

from collections.abc import Sequence

from ...ir import Tensor
from ...ops.decomposed.composite import dilations, edges
from .decomposition import Decomposition, decomposes


@decomposes("DILATE", "STABLEHLO_PAD")
def dilate(here: Decomposition) -> Tensor:
    """Paddings between elements, also behind the last, which is cropped; then those around all."""
    op = here.op
    steps, fill = dilations(op), here.reshape(op.operand(len(op.inputs) - 1), ())
    result = spread(here, op.operand(0), steps, fill)
    behind = [
        step - 1 if size else 0 for size, step in zip(op.operand(0).shape, steps, strict=True)
    ]
    around = [
        (before, after - last) for (before, after), last in zip(edges(op), behind, strict=True)
    ]
    return surround(here, result, around, fill)


def spread(
    here: Decomposition, tensor: Tensor, steps: Sequence[int], fill: Tensor | None = None
) -> Tensor:
    """The tensor with its elements `steps` apart along each axis; zeros, or `fill`, follow each."""
    apart: list[int] = []
    pads: list[tuple[int, int]] = []
    for size, step in zip(tensor.shape, steps, strict=True):
        apart += [size, 1] if step > 1 else [size]
        pads += [(0, 0), (0, step - 1)] if step > 1 else [(0, 0)]
    padded = surround(here, here.reshape(tensor, tuple(apart)), pads, fill)
    sizes = zip(tensor.shape, steps, strict=True)
    return here.reshape(padded, tuple(size * step for size, step in sizes))


def surround(
    here: Decomposition,
    tensor: Tensor,
    around: Sequence[tuple[int, int]],
    fill: Tensor | None = None,
) -> Tensor:
    """The tensor with zeros, or `fill`, before and after; negative numbers crop it instead."""
    pads = [*map(padded, around)]
    if any(map(any, pads)):
        table = here.constant(pads, "int32")
        operands = (tensor, table) if fill is None else (tensor, table, fill)
        tensor = here.add("PAD" if fill is None else "PADV2", *operands)
    crops = [*map(cropped, around)]
    sizes = [size + sum(crop) for size, crop in zip(tensor.shape, crops, strict=True)]
    return here.slice(tensor, [-before for before, _ in crops], sizes)


def padded(edge: tuple[int, int]) -> tuple[int, int]:
    """What is added before and after an axis."""
    return max(edge[0], 0), max(edge[1], 0)


def cropped(edge: tuple[int, int]) -> tuple[int, int]:
    """What is taken away, as negative numbers."""
    return min(edge[0], 0), min(edge[1], 0)
