"""SOFTMAX, LOG_SOFTMAX and L2_NORMALIZATION of integers.

SOFTMAX of int16 is made of powers and a reciprocal from tables of 512 straight lines:

d = x - largest of the row                     at most 0
p = powers of d, with 15 fractional bits       t = their sum, of bytes that are added up apart
y = p * reciprocal of t, shifted by as many bits as t has before the point
"""

import numpy as np

from ...ir import Array, Tensor, constant
from ...ops.integer_rows import powers_below
from .int16_functions import all_results
from .int16_sums import bytes_of
from .lowering import EXACT, INT32, INTEGERS, Lowering, lowers

RANGE = 65535
"""Steps from the least to the greatest int16."""
ONE = 32767
"""What stands for 1 with 15 fractional bits."""
SCALE = 32768.0
"""What results are multiplied by."""


@lowers("SOFTMAX")
def softmax(lowering: Lowering) -> Tensor:
    """Powers of the distance from the largest integer of a row, from a table of 256."""
    source, result = lowering.op.operand(0), lowering.op.output
    if source.dtype == "int16":
        return _of_int16(lowering)
    factor = np.float32(lowering.scale(source) * np.float32(lowering.op.attrs.get("beta", 0.0)))
    low, high = INTEGERS[result.dtype]
    zero = lowering.zero(result)
    return lowering.add(
        "tflgpu.softmax_integers",
        lowering.centered(source),
        factor=float(factor),
        scale=float(lowering.scale(result)),
        low=float(low - zero),
        high=float(high - zero),
    )


def _of_int16(lowering: Lowering) -> Tensor:
    """As LiteRT's own kernels compute it."""
    op = lowering.op
    source, result = op.operand(0), op.output
    count = source.shape[-1]
    if result.dtype != "int16":
        raise lowering.declined("its operand is int16, but its result is not")
    if 4 * count * ONE > INT32:
        raise lowering.declined(f"the sum of {count} powers may not fit in 30 bits")
    x = lowering.centered(source)
    distance = lowering.add("SUB", x, lowering.reduce("REDUCE_MAX", x))
    beta = np.float32(op.attrs.get("beta", 0.0))
    factor = lowering.fixed_point(float(np.float32(lowering.scale(source) * beta)) / (10.0 / RANGE))
    name = "tflgpu.requantize_rounded_twice"
    scaled = lowering.rounded(name, distance, bounds=(-RANGE, 0), factor=factor)
    powers = _looked_up(lowering, "powers", scaled, RANGE, all_results(np.exp, -10.0, 0.0, SCALE))
    sums = [lowering.reduce("SUM", part) for part in bytes_of(lowering, powers)]
    unit = lowering.add("tflgpu.power_below", *sums)
    place = lowering.add("tflgpu.normalized", *sums, unit)
    reciprocals = all_results(lambda value: 1 / (1 + value), 0.0, 1.0, SCALE)
    # One more entry, for what is rounded up to 2.
    reciprocal = _looked_up(
        lowering, "reciprocals", place, -(1 << 16), np.append(reciprocals, reciprocals[-1])
    )
    return lowering.add("tflgpu.share", powers, reciprocal, unit)


def _looked_up(lowering: Lowering, name: str, index: Tensor, offset: int, entries: Array) -> Tensor:
    table = constant(f"{lowering.op.output.name}/{name}", entries.astype(np.float32))
    return lowering.add("tflgpu.look_up", index, table, offset=offset)


@lowers("LOG_SOFTMAX")
def log_softmax(lowering: Lowering) -> Tensor:
    """Less the largest integer of the row and the logarithm of its powers' sum, in float32."""
    source, result = lowering.op.operand(0), lowering.op.output
    scale = lowering.scale(source)
    x = lowering.centered(source)
    most = lowering.reduce("REDUCE_MAX", x)
    distance = lowering.add("SUB", most, x)
    table = lowering.constant(powers_below(scale))
    total = lowering.reduce("SUM", lowering.add("tflgpu.look_up", distance, table, offset=0))
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
    squares = lowering.add("SQUARE", x)
    if source.shape[-1] * lowering.reach(source) ** 2 <= EXACT:
        sums = [zero, lowering.reduce("SUM", squares)]
    else:
        sums = [lowering.reduce("SUM", part) for part in bytes_of(lowering, squares)]
    upper, lower, exponent = (
        lowering.add(f"tflgpu.inverse_root_{part}", *sums) for part in ("high", "low", "exponent")
    )
    if result.dtype == "uint8":
        x = lowering.add("MUL", x, lowering.constant(128))
    else:
        exponent = lowering.add("tflgpu.add_exact", exponent, lowering.constant(7))
    name = "tflgpu.requantize_channels_rounded_twice"
    return lowering.rounded(name, zero, x, upper, lower, exponent, bounds=(-128, 127))
