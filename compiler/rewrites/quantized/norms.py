"""LOG_SOFTMAX and L2_NORMALIZATION of 8-bit integers."""

from __future__ import annotations

from ...ir import Tensor
from ...ops.integer_rows import powers_below
from .int16_sums import bytes_of
from .lowering import EXACT, Lowering, lowers


@lowers("LOG_SOFTMAX")
def log_softmax(lowering: Lowering) -> Tensor:
    """Less the largest integer of the row and the logarithm of its powers' sum, in float32."""
    source, result = lowering.op.operand(0), lowering.op.output
    scale = lowering.scale(source)
    x, last = lowering.centered(source), lowering.last_axis(source)
    most = lowering.add("REDUCE_MAX", x, last, keep_dims=True)
    distance = lowering.add("SUB", most, x)
    table = lowering.constant(powers_below(scale))
    total = lowering.add(
        "SUM", lowering.add("tflgpu.look_up", distance, table, offset=0), last, keep_dims=True
    )
    return lowering.rounded(
        "tflgpu.requantize_log_softmax",
        x,
        most,
        lowering.add("LOG", total),
        zero=float(lowering.zero(source)),
        source=float(scale),
        ratio=float(scale / lowering.scale(result)),
        scale=float(lowering.scale(result)),
    )


@lowers("L2_NORMALIZATION")
def l2_normalization(lowering: Lowering) -> Tensor:
    """Times 1 / sqrt(sum of squares) as a fixed-point number; the result's scale is 1 / 128."""
    source, result = lowering.op.operand(0), lowering.op.output
    x, zero = lowering.centered(source), lowering.constant(0)
    squares, last = lowering.add("SQUARE", x), lowering.last_axis(source)

    def added(values: Tensor) -> Tensor:
        return lowering.add("SUM", values, last, keep_dims=True)

    if source.shape[-1] * lowering.reach(source) ** 2 <= EXACT:
        sums = zero, added(squares)
    else:
        high, low = bytes_of(lowering, squares)
        sums = added(high), added(low)
    upper, lower, exponent = (
        lowering.add(f"tflgpu.inverse_root_{part}", *sums) for part in ("high", "low", "exponent")
    )
    if result.dtype == "uint8":
        x = lowering.add("MUL", x, lowering.constant(128))
    else:
        exponent = lowering.add("tflgpu.add_exact", exponent, lowering.constant(7))
    name = "tflgpu.requantize_channels_rounded_twice"
    return lowering.rounded(name, zero, x, upper, lower, exponent, bounds=(-128, 127))
