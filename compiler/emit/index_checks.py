"""The indices that a run can check, as the plan lists them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...runtime.plan.records import IndexCheck
from ..codegen.generate import Kernels
from ..ir import Op, Origin
from ..memory.allocation import Allocation
from ..ops import OPS
from ..ops.base import device_array
from .weights import Weights


def index_checks(
    kernels: Kernels, allocation: Allocation, weights: Weights
) -> Iterator[IndexCheck]:
    """A check of each tensor of indices, except for constants that are within bounds.

    Operators that only become GATHER, such as detections, compute indices within bounds themselves.
    """
    for dispatch, launch in enumerate(kernels.launches):
        origin = _origin(launch.op)
        for tensor, limits in launch.limits.items() if origin else ():
            if tensor.data is None:
                place = allocation.lies(tensor)
                _, layout = allocation.arrangement.aliases.locate(tensor)
                length, pitch = layout.length, layout.pitch
            elif np.all((tensor.data >= 0) & (tensor.data < np.array(limits))):
                continue
            else:
                place = weights.add(device_array(tensor.data))
                length = pitch = place.size
            span = (tensor.name, tensor.shape, place, length, pitch)
            yield IndexCheck(dispatch, str(origin), *span, tuple(limits))


def _origin(op: Op) -> Origin | None:
    """The operator of the model file whose indices an operator has; None if there is none."""
    indexing = (o for o in op.origins if o.name in OPS and OPS[o.name].traits.indexes)
    return next(indexing, None)
