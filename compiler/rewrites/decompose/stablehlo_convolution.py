"""STABLEHLO_CONVOLUTION becomes a convolution of images, or of volumes.

y = STABLEHLO_CONVOLUTION(x[2,8,5,7], w[6,8,3,3]), x spread by 2 along rows
becomes   v = TRANSPOSE(x), with rows of zeros between its rows   y = TRANSPOSE(CONV_2D(v, w))

Volumes whose channels are in groups become sums over the depths of the window:

y = CONV_2D(x[:, 0:5], w[:, 0]) + CONV_2D(x[:, 1:6], w[:, 1]) + ...
"""

from collections.abc import Sequence

import numpy as np

from ...ir import Tensor
from ...ops.base.window import Along
from ...ops.decomposed.stablehlo_convolution import Convolution, convolution
from .convolution import along_axes, steps, total
from .decomposition import Decomposition, decomposes
from .dilate import cropped, padded, spread, surround

AXES = 3  # The most that a window moves along.


@decomposes("STABLEHLO_CONVOLUTION")
def stablehlo_convolution(here: Decomposition) -> Tensor:
    """The operands' axes in the order of images, a convolution, and the axes of the result."""
    op = here.op
    found = convolution(op)
    if len(found.along) > AXES:
        reason = f"its window moves along {len(found.along)} axes, and at most {AXES} are supported"
        raise op.unsupported(reason)
    image = _grouped_batches(here, here.transpose(op.operand(0), found.image), found)
    image = _spread(here, image, found.along)
    weights = _weights(here, found)
    groups = found.groups * found.batch_groups
    if len(found.along) < AXES:
        result = _of_images(here, image, weights, found.along, groups)
    elif groups == 1:
        result = _of_volumes(here, image, weights, found.along)
    else:
        result = _of_depths(here, image, weights, found.along, groups)
    sizes = (image.shape[0], *(each.count for each in found.along), weights.shape[0])
    order = [int(axis) for axis in np.argsort(found.result)]
    return here.transpose(here.reshape(result, sizes), order)


def _grouped_batches(here: Decomposition, image: Tensor, found: Convolution) -> Tensor:
    """Images of a group are channels of a group instead."""
    count = found.batch_groups
    if count == 1:
        return image
    batches, *sizes, channels = image.shape
    apart = here.reshape(image, (count, batches // count, *sizes, channels))
    last = len(apart.shape) - 1
    moved = here.transpose(apart, (*range(1, last), 0, last))
    return here.reshape(moved, (batches // count, *sizes, count * channels))


def _spread(here: Decomposition, image: Tensor, along: Sequence[Along]) -> Tensor:
    """With zeros between elements, and cropped; what is around it, the convolution pads."""
    apart = spread(here, image, (1, *(each.spread for each in along), 1))
    return surround(here, apart, [(0, 0), *(cropped(_edges(each)) for each in along), (0, 0)])


def _edges(along: Along) -> tuple[int, int]:
    """What to add around a spread axis, which has zeros behind its last element, too."""
    return along.before, along.after - (along.spread - 1)


def _pads(along: Along) -> tuple[int, int]:
    return padded(_edges(along))


def _weights(here: Decomposition, found: Convolution) -> Tensor:
    weights = here.transpose(here.op.operand(1), found.weights)
    turned = [axis for axis, each in enumerate(found.along, 1) if each.reversed]
    return here.add("REVERSE_V2", weights, here.constant(turned, "int32")) if turned else weights


def _of_images(
    here: Decomposition, image: Tensor, weights: Tensor, along: Sequence[Along], groups: int
) -> Tensor:
    """A window along fewer axes has a single row, or pixel."""
    missing = (1,) * (AXES - 1 - len(along))
    image = here.reshape(image, (image.shape[0], *missing, *image.shape[1:]))
    weights = here.reshape(weights, (weights.shape[0], *missing, *weights.shape[1:]))
    along = [Along(1)] * len(missing) + list(along)
    return _images(here, image, weights, along, groups)


def _images(
    here: Decomposition, image: Tensor, weights: Tensor, along: Sequence[Along], groups: int
) -> Tensor:
    options = {"padding": tuple(map(_pads, along)), **along_axes("hw", along)}
    if groups == 1 or weights.shape[3] > 1:
        return here.add("CONV_2D", image, weights, None, **options)
    weights = here.transpose(weights, (3, 1, 2, 0))
    times = weights.shape[3] // image.shape[3]
    return here.add("DEPTHWISE_CONV_2D", image, weights, None, depth_multiplier=times, **options)


def _of_volumes(
    here: Decomposition, volume: Tensor, weights: Tensor, along: Sequence[Along]
) -> Tensor:
    options = {"padding": tuple(map(_pads, along)), **along_axes("dhw", along)}
    weights = here.transpose(weights, (1, 2, 3, 4, 0))
    return here.add("CONV_3D", volume, weights, None, **options)


def _of_depths(
    here: Decomposition, volume: Tensor, weights: Tensor, along: Sequence[Along], groups: int
) -> Tensor:
    """The sum of an image's convolution for each depth of the window."""
    depth, *others = along
    volume = surround(here, volume, [(0, 0), _pads(depth), (0, 0), (0, 0), (0, 0)])

    def convolved(image: Tensor, part: Tensor) -> Tensor:
        image = here.reshape(image, (image.shape[0] * depth.count, *image.shape[2:]))
        own = here.reshape(part, (part.shape[0], *part.shape[2:]))
        return _images(here, image, own, others, groups)

    parts = here.split(weights, depth.size, 1)
    return total(here, map(convolved, steps(here, volume, 1, depth), parts))
