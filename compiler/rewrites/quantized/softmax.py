"""SOFTMAX, LOG_SOFTMAX and L2_NORMALIZATION of integers.

SOFTMAX of int16 is made of powers and a reciprocal from tables of 512 straight lines:

d = x - largest of the row                     at most 0
p = powers of d, with 15 fractional bits       t = their sum, of bytes that are added up apart
y = p * reciprocal of t, shifted by as many bits as t has before the point
"""

import numpy as np

from ...ir import Array, Tensor, constant
from ...ops.reduce.integer_rows import powers_below
from .int16_functions import all_results
from .int16_sums import bytes_of
from .lowering import EXACT, INT32, INTEGERS, Lowering, lowers

RANGE = 65535  # Steps from the least to the greatest int16.
ONE = 32767  # What stands for 1 with 15 fractional bits.
SCALE = 32768.0  # What results are multiplied by.


@lowers("SOFTMAX")
def softmax(here: Lowering) -> Tensor:
    """Powers of the distance from the largest integer of a row, from a table of 256."""
    source, result = here.op.operand(0), here.op.output
    if source.dtype == "int16":
        return _of_int16(here)
    factor = np.float32(here.scale(source) * np.float32(here.op.attrs.get("beta", 0.0)))
    low, high = INTEGERS[result.dtype]
    zero = here.zero(result)
    return here.add(
        "tflgpu.softmax_integers",
        here.centered(source),
        factor=float(factor),
        scale=float(here.scale(result)),
        low=float(low - zero),
        high=float(high - zero),
    )


def _of_int16(here: Lowering) -> Tensor:
    """As LiteRT's own kernels compute it."""
    op = here.op
    source, result = op.operand(0), op.output
    count = source.shape[-1]
    if result.dtype != "int16":
        raise here.declined("its operand is int16, but its result is not")
    if 4 * count * ONE > INT32:
        raise here.declined(f"the sum of {count} powers may not fit in 30 bits")
    x = here.centered(source)
    distance = here.add("SUB", x, here.reduce("REDUCE_MAX", x))
    beta = np.float32(op.attrs.get("beta", 0.0))
    factor = here.fixed_point(float(np.float32(here.scale(source) * beta)) / (10.0 / RANGE))
    name = "tflgpu.requantize_rounded_twice"
    scaled = here.rounded(name, distance, bounds=(-RANGE, 0), factor=factor)
    powers = _looked_up(here, "powers", scaled, RANGE, all_results(np.exp, -10.0, 0.0, SCALE))
    sums = [here.reduce("SUM", part) for part in bytes_of(here, powers)]
    unit = here.add("tflgpu.power_below", *sums)
    place = here.add("tflgpu.normalized", *sums, unit)
    reciprocals = all_results(lambda value: 1 / (1 + value), 0.0, 1.0, SCALE)
    # One more entry, for what is rounded up to 2.
    reciprocal = _looked_up(
        here, "reciprocals", place, -(1 << 16), np.append(reciprocals, reciprocals[-1])
    )
    return here.add("tflgpu.share", powers, reciprocal, unit)


def _looked_up(here: Lowering, name: str, index: Tensor, offset: int, entries: Array) -> Tensor:
    table = constant(f"{here.op.output.name}/{name}", entries.astype(np.float32))
    return here.add("tflgpu.look_up", index, table, offset=offset)


@lowers("LOG_SOFTMAX")
def log_softmax(here: Lowering) -> Tensor:
    """Less the largest integer of the row and the logarithm of its powers' sum, in float32."""
    source, result = here.op.operand(0), here.op.output
    scale = here.scale(source)
    x = here.centered(source)
    most = here.reduce("REDUCE_MAX", x)
    distance = here.add("SUB", most, x)
    table = here.constant(powers_below(scale))
    total = here.reduce("SUM", here.add("tflgpu.look_up", distance, table, offset=0))
    return here.rounded(
        "tflgpu.requantize_log_softmax",
        x,
        most,
        here.add("LOG", total),
        zero=float(here.zero(source)),
        source=float(scale),
        ratio=float(scale / here.scale(result)),
        scale=float(here.scale(result)),
    )


@lowers("L2_NORMALIZATION")
def l2_normalization(here: Lowering) -> Tensor:
    """Times 1 / sqrt(sum of squares) as a fixed-point number; the result's scale is 1 / 128."""
    source, result = here.op.operand(0), here.op.output
    x, zero = here.centered(source), here.constant(0)
    squares = here.add("SQUARE", x)
    if source.shape[-1] * here.reach(source) ** 2 <= EXACT:
        sums = [zero, here.reduce("SUM", squares)]
    else:
        sums = [here.reduce("SUM", part) for part in bytes_of(here, squares)]
    root = [here.add(f"tflgpu.inverse_root_{part}", *sums) for part in ("high", "rest")]
    unsigned = result.dtype == "uint8"
    x = here.add("MUL", x, here.constant(128)) if unsigned else x
    bits = 0 if unsigned else 7
    return here.rounded("tflgpu.requantize_by_root", x, *root, bounds=(-128, 127), bits=bits)
