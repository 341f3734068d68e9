"""Which formula LiteRT computes a quantized operator with, as the lowerings repeat it.

LiteRT hands operators to XNNPACK where that takes their types and scales, and computes all others
with its own kernels. Both round differently, and so do LiteRT's kernels among themselves. What is
said here was found with the versions below, on x86; on Arm processors some of it differs.
"""

from __future__ import annotations

from .formula import EIGHT, LITERT, ROOTS, STORED, TABLE, TWICE, XNNPACK, Formula
from .layer_formulas import LAYERS
from .ratios import CONVERSIONS, ELEMENT_BLOCK, FLOAT_BLOCK, PRODUCTS, SUM_BLOCK, SUMS

ORACLE = "LiteRT 2.3.0 (PyPI's ai-edge-litert) with the XNNPACK that is built into it, on x86"
"""What all results are compared with."""

_SIGMOIDS = ("LOGISTIC", "TANH")
_COMPARISONS = ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")

FORMULAS = (
    *LAYERS,
    Formula(
        ("ADD", "SUB"),
        EIGHT,
        f"each operand's scale is {SUMS} of the result's",
        "factors of about 20 bits, sum shifted right, halves upwards",
        XNNPACK,
    ),
    Formula(
        ("ADD", "SUB"),
        f"int16; {EIGHT} otherwise",
        "sums of ADD of 8 bits within 16 bits in the result's scale",
        f"three times: {TWICE}; operands of ADD once, halves upwards, in whole blocks of "
        f"{SUM_BLOCK} elements, where they are int16 of the same shape",
        LITERT,
    ),
    Formula(
        ("MUL",),
        EIGHT,
        f"the product of scales is {PRODUCTS} of the result's",
        "product times the float32 ratio of scales, to the nearest even",
        XNNPACK,
    ),
    Formula(
        ("MUL",),
        f"int16; {EIGHT} otherwise",
        "products of 8 bits within 16 bits in the result's scale",
        TWICE,
        LITERT,
    ),
    Formula(
        ("QUANTIZE",),
        f"float32 to {EIGHT}",
        "",
        "times the inverse scale, to the nearest even; NaN to the greatest",
        XNNPACK,
    ),
    Formula(
        ("QUANTIZE",),
        "float32 to int16",
        "",
        "times the inverse scale, to the nearest even; beyond whole blocks of "
        f"{FLOAT_BLOCK}, divided by the scale, halves away from zero",
        LITERT,
    ),
    Formula(
        ("QUANTIZE", "LEAKY_RELU"),
        f"{EIGHT} to the same type",
        f"the scale is {CONVERSIONS} of the result's, with either slope",
        "factor of 8 fractional bits, halves upwards",
        XNNPACK,
    ),
    Formula(
        ("QUANTIZE",),
        f"between {EIGHT} otherwise",
        "",
        f"{TWICE}; halves upwards in whole blocks of {ELEMENT_BLOCK} elements",
        LITERT,
    ),
    Formula(("QUANTIZE",), "from or to int16", "", TWICE, LITERT),
    Formula(("QUANTIZE",), "int32 to int8 or int16, int16 to int32", "", TWICE, LITERT),
    Formula(("DEQUANTIZE",), f"{EIGHT}, int16", "", "float32 product", "both"),
    Formula(("LEAKY_RELU",), f"int16; {EIGHT} otherwise", "", TWICE, LITERT),
    Formula(("ABS",), "int8, int16", "", TWICE, LITERT),
    Formula(("PRELU",), EIGHT, "", TWICE, LITERT),
    Formula(("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1"), f"{EIGHT}, int16", "", TWICE, LITERT),
    Formula(("LOGISTIC", "TANH", "ELU"), EIGHT, "", f"{TABLE} even", XNNPACK),
    Formula(
        _SIGMOIDS,
        "int16",
        "scale 2^-12, for TANH also 2^-11",
        "gemmlowp's polynomials in 16 bits",
        LITERT,
    ),
    Formula(_SIGMOIDS, "int16", "any other scale", "256 lines, in steps of 1 / 12288", LITERT),
    Formula(("GELU",), EIGHT, "", f"{TABLE} even", LITERT),
    Formula(("NEG",), "int8, int16", "", STORED, LITERT),
    Formula(("EXP", "LOG"), "int8", "", f"{TABLE}, halves away from zero", LITERT),
    Formula(("RSQRT",), "int8", "", f"{ROOTS}; {TWICE}", LITERT),
    Formula(("SQRT",), "int8, int16", "", "float32 of each integer, cut off towards zero", LITERT),
    Formula(("EXP", "GELU", "LOG", "RSQRT"), "int16", "", "512 straight lines", LITERT),
    Formula(("HARD_SWISH",), EIGHT, "", "16 bits of fixed point", LITERT),
    Formula(
        ("DIV", "SQUARED_DIFFERENCE"),
        EIGHT,
        "",
        "table of 65536 entries: fixed point of 31 bits",
        LITERT,
    ),
    Formula(("DIV",), "int16", "", "fixed point of 31 bits", LITERT),
    Formula(
        _COMPARISONS,
        EIGHT,
        "scales below 65536",
        "table of 65536 entries: operands with 8 more bits, times their scales, or their signs "
        "alone where a scale is 1 or more",
        LITERT,
    ),
    Formula(
        ("EQUAL", "NOT_EQUAL"),
        "int16",
        "scales below 512",
        "integers with 8 more bits, times their scales, or their signs alone where a scale is 1 or "
        "more; from tables of 65536 entries, unless the scales are alike",
        LITERT,
    ),
    Formula(_COMPARISONS[2:], "int16", "", STORED, LITERT),
    Formula(("FLOOR_DIV", "FLOOR_MOD"), "int8, int16", "", STORED, LITERT),
    Formula(("BITWISE_XOR", "RIGHT_SHIFT"), f"{EIGHT}, int16", "", STORED, LITERT),
    Formula(
        ("MAXIMUM", "MINIMUM", "SELECT", "SELECT_V2", "REDUCE_MAX", "REDUCE_MIN"),
        f"{EIGHT}, int16",
        "",
        STORED,
        "both",
    ),
    Formula(("ARG_MAX", "ARG_MIN"), EIGHT, "", STORED, LITERT),
    Formula(("EMBEDDING_LOOKUP",), f"{EIGHT}, int16", "a table of as many bits", STORED, LITERT),
    Formula(
        ("EMBEDDING_LOOKUP",),
        "float32",
        "a table of int8, or of int4 in rows of an even number",
        "float32 product",
        LITERT,
    ),
    Formula(
        ("SUM",),
        "int16",
        "",
        "exact sum, rounded to float32, times one float32 factor, halves away from zero",
        LITERT,
    ),
    Formula(
        ("MEAN", "SUM"),
        EIGHT,
        "",
        "exact sum, rounded to float32, times one factor, plus what the zero points come to, to "
        "the nearest even",
        XNNPACK,
    ),
    Formula(
        ("REDUCE_PROD",),
        "int8, int16",
        "",
        "times a 15-bit factor after each integer and at the end, rounded once, halves upwards",
        LITERT,
    ),
    Formula(
        ("MEAN",),
        "int16",
        "",
        f"{TWICE}; the factor divided by the count before, as an integer",
        LITERT,
    ),
    Formula(
        ("AVERAGE_POOL_2D",),
        f"{EIGHT}, int16",
        "",
        "sum of the integers, divided, halves away from zero",
        "both",
    ),
    Formula(("MAX_POOL_2D",), f"{EIGHT}, int16", "", STORED, "both"),
    Formula(
        ("SOFTMAX",),
        f"{EIGHT}, int8 to int16",
        "",
        "table of powers, added up one after the other in float32; halves upwards (uint8) or away "
        "from zero (int8)",
        LITERT,
    ),
    Formula(("SOFTMAX",), "int16", "", "powers and reciprocals by 512 straight lines each", LITERT),
    Formula(
        ("RESIZE_BILINEAR",),
        EIGHT,
        "a size in the file",
        "weights of 11 fractional bits, rounded once, halves upwards",
        XNNPACK,
    ),
    Formula(
        ("RESIZE_BILINEAR",),
        "int16; int8 otherwise",
        "",
        "weights of 10 fractional bits, rounded once, halves away from zero",
        LITERT,
    ),
    Formula(
        ("LOG_SOFTMAX",),
        EIGHT,
        "",
        "table of powers, added up one after the other; float32, to the nearest even",
        LITERT,
    ),
    Formula(
        ("L2_NORMALIZATION",),
        EIGHT,
        "",
        f"{ROOTS}, of the sum of squares; {TWICE}",
        LITERT,
    ),
    Formula(
        ("CONCATENATION", "PACK"),
        EIGHT,
        "operands unlike the result",
        "float32 ratio of scales, halves away from zero",
        LITERT,
    ),
    Formula(
        ("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM"),
        "int8, cell state int16",
        "peepholes only without a projection",
        f"gates: {TWICE}, and normalized in fixed point; gemmlowp's polynomials in 16 bits",
        LITERT,
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
        LITERT,
    ),
    Formula(
        ("SVDF",),
        "int8, state and time weights int16",
        "",
        f"features: {TWICE}; 32-bit sum that wraps, rounded alike",
        LITERT,
    ),
    Formula(
        ("TFLite_Detection_PostProcess",),
        EIGHT,
        "",
        "boxes: float64, rounded to float32 once; the rest: float32, dequantized first",
        LITERT,
    ),
)
"""Those of all operators; operators that only move integers are in `moves.MOVES`."""
