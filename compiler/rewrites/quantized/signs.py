"""Operators that scale positive and negative integers differently."""

import numpy as np

from ...ir import Tensor
from .lowering import Lowering, lowers
from .ratios import CONVERSIONS
from .tables import integers, look_up


@lowers("LEAKY_RELU")
def leaky_relu(lowering: Lowering) -> Tensor:
    """A fixed-point factor of 8 fractional bits for each sign, where XNNPACK has them."""
    source, result = lowering.op.operand(0), lowering.op.output
    ratio = lowering.scale(source) / lowering.scale(result)
    alpha = np.float32(lowering.op.attrs["alpha"])
    slopes = (ratio, ratio * alpha)
    if source.dtype == "int16" or not all(float(abs(slope)) in CONVERSIONS for slope in slopes):
        one = lowering.constant(1)
        # LiteRT multiplies in this order.
        return _by_sign(
            lowering,
            one,
            float(ratio),
            float(lowering.scale(source) * alpha / lowering.scale(result)),
        )
    positive, negative = (int(np.rint(np.float32(256) * slope)) for slope in slopes)
    x = integers(lowering).astype(np.int64)
    low, high = lowering.bounds(result)
    rounded = ((x << 7) * np.where(x > 0, positive, negative) + (1 << 14)) >> 15
    return look_up(lowering, np.clip(rounded, low, high))


@lowers("PRELU")
def prelu(lowering: Lowering) -> Tensor:
    """As LiteRT's own kernels compute it: the slopes are integers of their own scale."""
    source, slopes, result = lowering.op.operand(0), lowering.op.operand(1), lowering.op.output
    if slopes.dtype == "int16":
        raise lowering.declined("its slopes are int16, whose bytes LiteRT takes for int8")
    scales = [np.float64(lowering.scale(tensor)) for tensor in (source, slopes, result)]
    positive, negative = scales[0] / scales[2], scales[0] * scales[1] / scales[2]
    return _by_sign(lowering, lowering.centered(slopes), float(positive), float(negative))


@lowers("ABS")
def absolute(lowering: Lowering) -> Tensor:
    """Scaled by a factor that rounds twice."""
    ratio = np.float32(lowering.scale(lowering.op.operand(0)) / lowering.scale(lowering.op.output))
    return _by_sign(lowering, lowering.constant(-1), float(ratio), float(ratio))


def _by_sign(lowering: Lowering, slopes: Tensor, above: float, below: float) -> Tensor:
    """Factors that round twice; `below` is of the operand times the slopes."""
    return lowering.rounded(
        "tflgpu.requantize_by_sign",
        lowering.centered(lowering.op.operand(0)),
        slopes,
        positive=lowering.fixed_point(above),
        negative=lowering.fixed_point(below),
    )
