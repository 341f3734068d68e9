"""The formulas of layers: convolutions, fully connected layers and products of matrices."""

from __future__ import annotations

from .formula import EIGHT, LITERT, TWICE, XNNPACK, Formula
from .ratios import CHANNEL_BLOCK, ELEMENT_BLOCK

_CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")
_OF_IMAGES = ("CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV")

LAYERS = (
    Formula(
        _CONVOLUTIONS,
        EIGHT,
        "one scale or one for each channel",
        "exact sum, times the float32 ratio of scales, to the nearest even",
        XNNPACK,
    ),
    Formula(
        ("FULLY_CONNECTED",),
        f"{EIGHT}, int16",
        "weights of 8 bits that the model computes; of int16 with a bias of 64 bits, rounded once",
        "31-bit factor, rounded twice, the last halves upwards",
        LITERT,
    ),
    Formula(
        ("FULLY_CONNECTED",),
        "int16 with weights of int16",
        "constant or computed by the model",
        "64-bit sum, times a 15-bit factor, rounded once, halves upwards",
        LITERT,
    ),
    Formula(
        ("DEPTHWISE_CONV_2D",),
        EIGHT,
        "weights that the model computes",
        "31-bit factor, rounded twice, the last halves upwards in whole blocks of "
        f"{CHANNEL_BLOCK} channels (int8) or away from zero (uint8)",
        LITERT,
    ),
    Formula(
        ("CONV_2D",),
        EIGHT,
        "weights that the model computes",
        "31-bit factor, rounded twice, the last halves upwards (those of groups away from zero)",
        LITERT,
    ),
    Formula(
        ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"),
        "int8 with weights of int4",
        "FULLY_CONNECTED of an odd number of inputs; with an even one, as above",
        "31-bit factor, rounded twice, the last halves upwards (those of grouped CONV_2D away from "
        f"zero, those of DEPTHWISE_CONV_2D upwards in whole blocks of {CHANNEL_BLOCK} channels)",
        LITERT,
    ),
    Formula(
        ("TRANSPOSE_CONV",),
        EIGHT,
        "SAME with strides larger than the window, or a size or weights that the model computes",
        f"{TWICE}; halves upwards in whole blocks of {CHANNEL_BLOCK} channels (int8) or "
        f"{ELEMENT_BLOCK} elements (uint8)",
        LITERT,
    ),
    Formula(
        _OF_IMAGES,
        "int16",
        "bias of 64 bits",
        "64-bit sum, times a 15-bit factor, rounded once, halves upwards",
        LITERT,
    ),
    Formula(
        ("CONV_2D", "TRANSPOSE_CONV"),
        "int16",
        "bias of 32 bits",
        "32-bit sum that wraps; 31-bit factor, rounded twice, the last halves upwards (those of "
        f"TRANSPOSE_CONV only in whole blocks of {CHANNEL_BLOCK} channels, those of grouped "
        "CONV_2D away from zero)",
        LITERT,
    ),
    Formula(
        ("FULLY_CONNECTED",),
        "int16",
        "bias of 64 bits",
        "sum times a 31-bit factor, rounded once, halves upwards",
        LITERT,
    ),
    Formula(
        ("FULLY_CONNECTED",),
        "int16",
        "bias of 32 bits, or none",
        "31-bit factor, rounded twice, the last halves upwards",
        LITERT,
    ),
    Formula(
        ("CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV", "BATCH_MATMUL"),
        "float32 with weights of int4, int8",
        "",
        "each row or image to int8 (scale 255 / range, nearest even); exact sum, times the inverse "
        "scale, then fma with the weights' scale and the bias",
        XNNPACK,
    ),
    Formula(
        ("FULLY_CONNECTED",),
        "float32 with weights of int4 in blocks",
        "blocks of a multiple of 32",
        "as above; the blocks' scales are rounded to bfloat16 and multiply the weights before the "
        "sum, which is then of floats",
        XNNPACK,
    ),
    Formula(
        ("FULLY_CONNECTED",),
        "float32 with weights of int4 in blocks",
        "other blocks, an even number of inputs from 32 on, from 4 outputs on",
        "each row to int8 (255 / range, halves away from zero); the blocks' scales, as they are, "
        "multiply the weights before the sum",
        LITERT,
    ),
    Formula(
        ("CONV_2D", "FULLY_CONNECTED"),
        "float32 with weights of int4",
        "CONV_2D, and FULLY_CONNECTED of an odd number of inputs",
        "each image or row to int8 (127 / largest; with a zero point where each channel has a "
        "scale, or where FULLY_CONNECTED asks for one); exact sum, times the product of both "
        "scales, plus the bias",
        LITERT,
    ),
    Formula(
        ("DEPTHWISE_CONV_2D",),
        "float32 with weights of int8",
        "",
        "the same, but ties away from zero; sum times the weights' scale, times the image's, plus "
        "the bias",
        LITERT,
    ),
    Formula(
        ("BATCH_MATMUL",),
        "int8",
        "zero point of the second operand 0",
        "exact sum, times the float32 ratio of scales, to the nearest even",
        XNNPACK,
    ),
    Formula(("BATCH_MATMUL",), "int8", "any other zero point", TWICE, LITERT),
    Formula(
        ("BATCH_MATMUL",),
        "int16, second operand int8 or int16",
        "",
        "64-bit sum, times a 15-bit factor, rounded once, halves upwards",
        LITERT,
    ),
)
