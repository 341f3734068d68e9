"""QUANTIZE and DEQUANTIZE: floats to integers and back."""

import numpy as np

from ...ir import Tensor
from ...ops.elementwise.centered import RESCALE_INTEGERS
from .int16_sums import by_channel
from .lowering import INTEGERS, Lowering, lowers
from .ratios import CONVERSIONS, ELEMENT_BLOCK, FLOAT_BLOCK, beyond_blocks

# The types that LiteRT quantizes from and to with int32 on one side.
WIDE_PAIRS = {("int32", "int8"), ("int32", "int16"), ("int16", "int32")}


@lowers("QUANTIZE")
def quantize(here: Lowering) -> Tensor:
    """Floats to integers, or integers to those of another scale."""
    source, result = here.op.operand(0), here.op.output
    if (source.dtype, result.dtype) in WIDE_PAIRS:
        return _of_32_bits(here, source, result)
    if result.dtype not in INTEGERS or source.dtype not in (*INTEGERS, "float32"):
        raise here.declined(f"it turns {source.dtype} into {result.dtype}, which has no formula")
    if source.dtype not in INTEGERS:
        return _of_floats(here, source, result)
    ratio = float(here.scale(source) / here.scale(result))
    centered = here.centered(source)
    if ratio == 1.0 and _moved(here, source, result):
        value = centered
    elif source.dtype == result.dtype != "int16" and ratio in CONVERSIONS:
        steps = int(np.rint(np.float32(256) * np.float32(ratio)))
        value = here.rounded(
            "tflgpu.requantize_fixed_point", centered, factor=steps << 7, half=1 << 14, shift=15
        )
    else:
        factor = float(np.float64(here.scale(source)) / np.float64(here.scale(result)))
        operands = (here.constant(0), centered, *by_channel(here, np.asarray(factor)))
        int16 = "int16" in (source.dtype, result.dtype)
        ties_away = here.constant(1 if int16 else beyond_blocks(source.shape, ELEMENT_BLOCK))
        name = "tflgpu.requantize_channels_upwards"
        value = here.rounded(name, *operands, ties_away)
    return value


def _of_32_bits(here: Lowering, source: Tensor, result: Tensor) -> Tensor:
    """Stored integers times the ratio of the scales, of which one side has 32 bits."""
    before, after = (here.scale(tensor, (*INTEGERS, "int32")) for tensor in (source, result))
    factor = here.fixed_point(np.float64(before) / np.float64(after))
    rescaled = here.add(
        RESCALE_INTEGERS,
        source,
        dtype=result.dtype,
        from_zero=here.zero(source),
        to_zero=here.zero(result),
        multiplier=factor.multiplier,
        exponent=factor.exponent,
    )
    rescaled.quantization = result.quantization
    return rescaled


def _moved(here: Lowering, source: Tensor, result: Tensor) -> bool:
    """Whether centered integers are those of the result, as from uint8 to int8 128 below."""
    low, high = INTEGERS[source.dtype]
    zero = here.zero(source)
    return here.bounds(result) == (low - zero, high - zero)


def _of_floats(here: Lowering, source: Tensor, result: Tensor) -> Tensor:
    """Times the inverse scale, to the nearest even integer; by the scale of each channel.

    LiteRT's own kernels, which quantize to int16, divide what is left of blocks by the scale, with
    ties away from zero; what does not fit in 32 bits becomes the least integer.
    """
    if here.scales(result).ndim:
        return here.rounded("tflgpu.quantize_channels", source, _of_channels(here, result))
    inverse = float(np.float32(1) / here.scale(result))
    if result.dtype == "int16":
        steps = here.constant(beyond_blocks(source.shape, FLOAT_BLOCK) * here.scale(result))
        return here.rounded("tflgpu.quantize_to_int16", source, steps, inverse=inverse)
    return here.rounded("tflgpu.quantize", source, inverse=inverse)


@lowers("DEQUANTIZE")
def dequantize(here: Lowering) -> Tensor:
    """Centered integers are multiplied by the scale, or each channel by its own."""
    source = here.op.operand(0)
    centered = here.centered(source)
    if here.scales(source).ndim:
        return here.add("MUL", centered, _of_channels(here, source))
    return here.add("tflgpu.dequantize", centered, scale=float(here.scale(source)))


def _of_channels(here: Lowering, tensor: Tensor) -> Tensor:
    """The scales of a tensor's channels, along their axis."""
    assert tensor.quantization is not None
    behind = len(tensor.shape) - 1 - tensor.quantization.axis
    return here.constant(here.scales(tensor).reshape(-1, *(1,) * behind))
