"""Operators that scale positive and negative integers differently."""

import numpy as np

from ...ir import Tensor
from .lowering import Lowering, lowers
from .ratios import CONVERSIONS
from .tables import integers, look_up


@lowers("LEAKY_RELU")
def leaky_relu(here: Lowering) -> Tensor:
    """A fixed-point factor of 8 fractional bits for each sign, where XNNPACK has them."""
    source, result = here.op.operand(0), here.op.output
    ratio = here.scale(source) / here.scale(result)
    alpha = np.float32(here.op.attrs["alpha"])
    slopes = (ratio, ratio * alpha)
    if source.dtype == "int16" or not all(float(abs(slope)) in CONVERSIONS for slope in slopes):
        one = here.constant(1)
        # LiteRT multiplies in this order.
        return _by_sign(
            here, one, float(ratio), float(here.scale(source) * alpha / here.scale(result))
        )
    positive, negative = (int(np.rint(np.float32(256) * slope)) for slope in slopes)
    x = integers(here).astype(np.int64)
    low, high = here.bounds(result)
    rounded = ((x << 7) * np.where(x > 0, positive, negative) + (1 << 14)) >> 15
    return look_up(here, np.clip(rounded, low, high))


@lowers("PRELU")
def prelu(here: Lowering) -> Tensor:
    """As LiteRT's own kernels compute it: the slopes are integers of their own scale."""
    source, slopes, result = here.op.operand(0), here.op.operand(1), here.op.output
    if slopes.dtype == "int16":
        raise here.declined("its slopes are int16, whose bytes LiteRT takes for int8")
    scales = [np.float64(here.scale(tensor)) for tensor in (source, slopes, result)]
    positive, negative = scales[0] / scales[2], scales[0] * scales[1] / scales[2]
    return _by_sign(here, here.centered(slopes), float(positive), float(negative))


@lowers("ABS")
def absolute(here: Lowering) -> Tensor:
    """Scaled by a factor that rounds twice."""
    ratio = np.float32(here.scale(here.op.operand(0)) / here.scale(here.op.output))
    return _by_sign(here, here.constant(-1), float(ratio), float(ratio))


def _by_sign(here: Lowering, slopes: Tensor, above: float, below: float) -> Tensor:
    """Factors that round twice; `below` is of the operand times the slopes."""
    return here.rounded(
        "tflgpu.requantize_by_sign",
        here.centered(here.op.operand(0)),
        slopes,
        positive=here.fixed_point(above),
        negative=here.fixed_point(below),
    )
