"""Which formula LiteRT computes a quantized operator with, as the lowerings repeat it.

LiteRT hands operators to XNNPACK where that takes their types and scales, and computes all others
with its own kernels. Both round differently, and so do LiteRT's kernels among themselves. What is
said here was found with the versions below, on x86; on Arm processors some of it differs.
"""

from __future__ import annotations

from dataclasses import dataclass

from .ratios import (
    CHANNEL_BLOCK,
    CONVERSIONS,
    ELEMENT_BLOCK,
    FLOAT_BLOCK,
    PRODUCTS,
    SUM_BLOCK,
    SUMS,
)

ORACLE = "LiteRT 2.3.0 (PyPI's ai-edge-litert) with the XNNPACK that is built into it, on x86"
"""What all results are compared with."""


@dataclass(frozen=True)
class Formula:
    """How some operators are computed for some types."""

    operators: tuple[str, ...]
    types: str
    """Types of the activations."""
    where: str
    """Further conditions."""
    formula: str
    source: str


_CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")
_LAYERS = ("CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV")
_SIGMOIDS = ("LOGISTIC", "TANH")
_COMPARISONS = ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
_EIGHT = "int8, uint8"
_TWICE = "31-bit factor, rounded after the product and, halves away from zero, after the shift"
_OWN = "LiteRT"
_XNNPACK = "XNNPACK"
_TABLE = "table of 256 entries: float32, to the nearest"
_RAW = "the stored integers, whatever their scales"

FORMULAS = (
    Formula(
        _CONVOLUTIONS,
        _EIGHT,
        "one scale or one for each channel",
        "exact sum, times the float32 ratio of scales, to the nearest even",
        _XNNPACK,
    ),
    Formula(
        ("FULLY_CONNECTED",),
        f"{_EIGHT}, int16",
        "weights of 8 bits that the model computes; of int16 with a bias of 64 bits, rounded once",
        "31-bit factor, rounded twice, the last halves upwards",
        _OWN,
    ),
    Formula(
        ("FULLY_CONNECTED",),
        "int16 with weights of int16",
        "constant or computed by the model",
        "64-bit sum, times a 15-bit factor, rounded once, halves upwards",
        _OWN,
    ),
    Formula(
        ("DEPTHWISE_CONV_2D",),
        _EIGHT,
        "weights that the model computes",
        "31-bit factor, rounded twice, the last halves upwards in whole blocks of "
        f"{CHANNEL_BLOCK} channels (int8) or away from zero (uint8)",
        _OWN,
    ),
    Formula(
        ("CONV_2D",),
        _EIGHT,
        "weights that the model computes",
        "31-bit factor, rounded twice, the last halves upwards (those of groups away from zero)",
        _OWN,
    ),
    Formula(
        ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"),
        "int8 with weights of int4",
        "FULLY_CONNECTED of an odd number of inputs; with an even one, as above",
        "31-bit factor, rounded twice, the last halves upwards (those of grouped CONV_2D away from "
        f"zero, those of DEPTHWISE_CONV_2D upwards in whole blocks of {CHANNEL_BLOCK} channels)",
        _OWN,
    ),
    Formula(
        ("TRANSPOSE_CONV",),
        _EIGHT,
        "SAME with strides larger than the window, or a size or weights that the model computes",
        f"{_TWICE}; halves upwards in whole blocks of {CHANNEL_BLOCK} channels (int8) or "
        f"{ELEMENT_BLOCK} elements (uint8)",
        _OWN,
    ),
    Formula(
        _LAYERS,
        "int16",
        "bias of 64 bits",
        "64-bit sum, times a 15-bit factor, rounded once, halves upwards",
        _OWN,
    ),
    Formula(
        ("CONV_2D", "TRANSPOSE_CONV"),
        "int16",
        "bias of 32 bits",
        "32-bit sum that wraps; 31-bit factor, rounded twice, the last halves upwards (those of "
        f"TRANSPOSE_CONV only in whole blocks of {CHANNEL_BLOCK} channels, those of grouped "
        "CONV_2D away from zero)",
        _OWN,
    ),
    Formula(
        ("FULLY_CONNECTED",),
        "int16",
        "bias of 64 bits",
        "sum times a 31-bit factor, rounded once, halves upwards",
        _OWN,
    ),
    Formula(
        ("FULLY_CONNECTED",),
        "int16",
        "bias of 32 bits, or none",
        "31-bit factor, rounded twice, the last halves upwards",
        _OWN,
    ),
    Formula(
        ("CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV", "BATCH_MATMUL"),
        "float32 with weights of int4, int8",
        "",
        "each row or image to int8 (scale 255 / range, nearest even); exact sum, times the inverse "
        "scale, then fma with the weights' scale and the bias (scales of blocks are rounded to "
        "bfloat16 and multiply the weights before the sum, which is then of floats)",
        _XNNPACK,
    ),
    Formula(
        ("CONV_2D", "FULLY_CONNECTED"),
        "float32 with weights of int4",
        "CONV_2D, and FULLY_CONNECTED of an odd number of inputs",
        "each image or row to int8 (127 / largest; with a zero point where each channel has a "
        "scale, or where FULLY_CONNECTED asks for one); exact sum, times the product of both "
        "scales, plus the bias",
        _OWN,
    ),
    Formula(
        ("DEPTHWISE_CONV_2D",),
        "float32 with weights of int8",
        "",
        "the same, but ties away from zero; sum times the weights' scale, times the image's, plus "
        "the bias",
        _OWN,
    ),
    Formula(
        ("BATCH_MATMUL",),
        "int8",
        "zero point of the second operand 0",
        "exact sum, times the float32 ratio of scales, to the nearest even",
        _XNNPACK,
    ),
    Formula(("BATCH_MATMUL",), "int8", "any other zero point", _TWICE, _OWN),
    Formula(
        ("BATCH_MATMUL",),
        "int16, second operand int8 or int16",
        "",
        "64-bit sum, times a 15-bit factor, rounded once, halves upwards",
        _OWN,
    ),
    Formula(
        ("ADD", "SUB"),
        _EIGHT,
        f"each operand's scale is {SUMS} of the result's",
        "factors of about 20 bits, sum shifted right, halves upwards",
        _XNNPACK,
    ),
    Formula(
        ("ADD", "SUB"),
        f"int16; {_EIGHT} otherwise",
        "sums of ADD of 8 bits within 16 bits in the result's scale",
        f"three times: {_TWICE}; operands of ADD once, halves upwards, in whole blocks of "
        f"{SUM_BLOCK} elements, where they are int16 of the same shape",
        _OWN,
    ),
    Formula(
        ("MUL",),
        _EIGHT,
        f"the product of scales is {PRODUCTS} of the result's",
        "product times the float32 ratio of scales, to the nearest even",
        _XNNPACK,
    ),
    Formula(("MUL",), f"int16; {_EIGHT} otherwise", "", _TWICE, _OWN),
    Formula(
        ("QUANTIZE",),
        f"float32 to {_EIGHT}",
        "",
        "times the inverse scale, to the nearest even; NaN to the greatest",
        _XNNPACK,
    ),
    Formula(
        ("QUANTIZE",),
        "float32 to int16",
        "",
        "times the inverse scale, to the nearest even; beyond whole blocks of "
        f"{FLOAT_BLOCK}, divided by the scale, halves away from zero",
        _OWN,
    ),
    Formula(
        ("QUANTIZE", "LEAKY_RELU"),
        f"{_EIGHT} to the same type",
        f"the scale is {CONVERSIONS} of the result's, with either slope",
        "factor of 8 fractional bits, halves upwards",
        _XNNPACK,
    ),
    Formula(
        ("QUANTIZE",),
        f"between {_EIGHT} otherwise",
        "",
        f"{_TWICE}; halves upwards in whole blocks of {ELEMENT_BLOCK} elements",
        _OWN,
    ),
    Formula(("QUANTIZE",), "from or to int16", "", _TWICE, _OWN),
    Formula(("QUANTIZE",), "int32 to int8 or int16, int16 to int32", "", _TWICE, _OWN),
    Formula(("DEQUANTIZE",), f"{_EIGHT}, int16", "", "float32 product", "both"),
    Formula(("LEAKY_RELU",), f"int16; {_EIGHT} otherwise", "", _TWICE, _OWN),
    Formula(("ABS",), "int8, int16", "", _TWICE, _OWN),
    Formula(("PRELU",), _EIGHT, "", _TWICE, _OWN),
    Formula(("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1"), f"{_EIGHT}, int16", "", _TWICE, _OWN),
    Formula(("LOGISTIC", "TANH", "ELU"), _EIGHT, "", f"{_TABLE} even", _XNNPACK),
    Formula(
        _SIGMOIDS,
        "int16",
        "scale 2^-12, for TANH also 2^-11",
        "gemmlowp's polynomials in 16 bits",
        _OWN,
    ),
    Formula(_SIGMOIDS, "int16", "any other scale", "256 lines, in steps of 1 / 12288", _OWN),
    Formula(("GELU",), _EIGHT, "", f"{_TABLE} even", _OWN),
    Formula(("NEG",), "int8, int16", "", _RAW, _OWN),
    Formula(("EXP", "LOG", "RSQRT"), "int8", "", f"{_TABLE}, halves away from zero", _OWN),
    Formula(("SQRT",), "int8, int16", "", "float32 of each integer, cut off towards zero", _OWN),
    Formula(("EXP", "GELU", "LOG", "RSQRT"), "int16", "", "512 straight lines", _OWN),
    Formula(("HARD_SWISH",), _EIGHT, "", "16 bits of fixed point", _OWN),
    Formula(
        ("DIV", "SQUARED_DIFFERENCE"),
        _EIGHT,
        "",
        "table of 65536 entries: fixed point of 31 bits",
        _OWN,
    ),
    Formula(("DIV",), "int16", "", "fixed point of 31 bits", _OWN),
    Formula(
        _COMPARISONS,
        _EIGHT,
        "scales below 65536",
        "table of 65536 entries: operands with 8 more bits, times their scales, or their signs "
        "alone where a scale is 1 or more",
        _OWN,
    ),
    Formula(
        ("EQUAL", "NOT_EQUAL"),
        "int16",
        "scales below 512",
        "integers with 8 more bits, times their scales, or their signs alone where a scale is 1 or "
        "more; from tables of 65536 entries, unless the scales are alike",
        _OWN,
    ),
    Formula(_COMPARISONS[2:], "int16", "", _RAW, _OWN),
    Formula(("FLOOR_DIV", "FLOOR_MOD"), "int8, int16", "", _RAW, _OWN),
    Formula(("BITWISE_XOR", "RIGHT_SHIFT"), f"{_EIGHT}, int16", "", _RAW, _OWN),
    Formula(
        ("MAXIMUM", "MINIMUM", "SELECT", "SELECT_V2", "REDUCE_MAX", "REDUCE_MIN"),
        f"{_EIGHT}, int16",
        "",
        _RAW,
        "both",
    ),
    Formula(("ARG_MAX", "ARG_MIN"), _EIGHT, "", _RAW, _OWN),
    Formula(("EMBEDDING_LOOKUP",), f"{_EIGHT}, int16", "", _RAW, _OWN),
    Formula(("EMBEDDING_LOOKUP",), "float32", "a table of int4 or int8", "float32 product", _OWN),
    Formula(
        ("SUM",),
        "int16",
        "",
        "exact sum, rounded to float32, times one float32 factor, halves away from zero",
        _OWN,
    ),
    Formula(
        ("MEAN", "SUM"),
        _EIGHT,
        "",
        "exact sum, rounded to float32, times one factor, plus what the zero points come to, to "
        "the nearest even",
        _XNNPACK,
    ),
    Formula(
        ("REDUCE_PROD",),
        "int8, int16",
        "",
        "times a 15-bit factor after each integer and at the end, rounded once, halves upwards",
        _OWN,
    ),
    Formula(
        ("MEAN",),
        "int16",
        "",
        f"{_TWICE}; the factor divided by the count before, as an integer",
        _OWN,
    ),
    Formula(
        ("AVERAGE_POOL_2D",),
        f"{_EIGHT}, int16",
        "",
        "sum of the integers, divided, halves away from zero",
        "both",
    ),
    Formula(("MAX_POOL_2D",), f"{_EIGHT}, int16", "", _RAW, "both"),
    Formula(
        ("SOFTMAX",),
        f"{_EIGHT}, int8 to int16",
        "",
        "table of powers, added up one after the other in float32; halves upwards (uint8) or away "
        "from zero (int8)",
        _OWN,
    ),
    Formula(("SOFTMAX",), "int16", "", "powers and reciprocals by 512 straight lines each", _OWN),
    Formula(
        ("RESIZE_BILINEAR",),
        _EIGHT,
        "a size in the file",
        "weights of 11 fractional bits, rounded once, halves upwards",
        _XNNPACK,
    ),
    Formula(
        ("RESIZE_BILINEAR",),
        "int16; int8 otherwise",
        "",
        "weights of 10 fractional bits, rounded once, halves away from zero",
        _OWN,
    ),
    Formula(
        ("LOG_SOFTMAX",),
        _EIGHT,
        "",
        "table of powers, added up one after the other; float32, to the nearest even",
        _OWN,
    ),
    Formula(
        ("L2_NORMALIZATION",),
        _EIGHT,
        "",
        f"1 / sqrt of the sum of squares by Newton's method; {_TWICE}",
        _OWN,
    ),
    Formula(
        ("CONCATENATION", "PACK"),
        _EIGHT,
        "operands unlike the result",
        "float32 ratio of scales, halves away from zero",
        _OWN,
    ),
    Formula(
        ("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM"),
        "int8, cell state int16",
        "peepholes only without a projection",
        f"gates: {_TWICE}, and normalized in fixed point; gemmlowp's polynomials in 16 bits",
        _OWN,
    ),
    Formula(
        (
            "LSTM",
            "UNIDIRECTIONAL_SEQUENCE_LSTM",
            "RNN",
            "UNIDIRECTIONAL_SEQUENCE_RNN",
            "SVDF",
        ),
        "float32 with weights of int8",
        "",
        "each row to int8 (127 / largest, or with a zero point as DEPTHWISE_CONV_2D; halves away "
        "from zero); exact sum, times the product of the weights' scale and the row's, plus what "
        "is there; all else of floats",
        _OWN,
    ),
    Formula(
        ("SVDF",),
        "int8, state and time weights int16",
        "",
        f"features: {_TWICE}; 32-bit sum that wraps, rounded alike",
        _OWN,
    ),
    Formula(
        ("TFLite_Detection_PostProcess",),
        _EIGHT,
        "",
        "boxes: float64, rounded to float32 once; the rest: float32, dequantized first",
        _OWN,
    ),
)
"""In the order of the operators; those that only move integers are in `moves.MOVES`."""
