"""Convolutions whose weights are computed, quantized or three-dimensional, or dilated by blocks."""

from collections.abc import Iterator

import numpy as np
from graphs import Call, call, ints, known, w, x

from .case import Case


def dilations() -> Iterator[Case]:
    """Convolutions between blocks of batches, which are dilated ones."""
    pads, crops = (
        known(np.array([[2, 3], [3, 3]], np.int32)),
        known(np.array([[0, 1], [1, 0]], np.int32)),
    )
    size = ints(2, 3)
    window = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
    window |= {"dilation_h_factor": 1, "dilation_w_factor": 1}
    window["fused_activation_function"] = "RELU"
    for channels in (5, 16):
        cut = call("SPACE_TO_BATCH_ND", x(2, 7, 9, channels), size, pads)
        value = call("CONV_2D", cut, w(7, 3, 3, channels), w(7), **window)
        value = call("BATCH_TO_SPACE_ND", value, size, crops)
        yield Case("SPACE_TO_BATCH_ND", f"dilated convolution of {channels}", value)
        cut = call("SPACE_TO_BATCH_ND", x(2, 7, 9, channels), size, pads)
        options = {**window, "depth_multiplier": 1}
        value = call("DEPTHWISE_CONV_2D", cut, w(1, 3, 3, channels), w(channels), **options)
        value = call("BATCH_TO_SPACE_ND", value, size, crops)
        yield Case("SPACE_TO_BATCH_ND", f"dilated depthwise convolution of {channels}", value)


def computed_weights() -> Iterator[Case]:
    """Convolutions whose weights the model computes, and those of volumes."""
    for padding in ("SAME", "VALID"):
        for stride, dilation in ((1, 1), (2, 1), (1, 2)):
            window = {"padding": padding, "stride_h": stride, "stride_w": stride}
            window |= {"dilation_h_factor": dilation, "dilation_w_factor": dilation}
            situation = f"computed weights {padding} by {stride} dilated {dilation}"
            value = call("CONV_2D", x(2, 7, 11, 5), call("ABS", x(7, 3, 3, 5)), w(7), **window)
            yield Case("CONV_2D", situation, value)
            weights = call("ABS", x(1, 3, 3, 5))
            options = {**window, "depth_multiplier": 1}
            value = call("DEPTHWISE_CONV_2D", x(2, 7, 11, 5), weights, w(5), **options)
            yield Case("DEPTHWISE_CONV_2D", situation, value)
        for stride in (1, 2):
            options = {f"stride_{letter}": stride for letter in "dhw"}
            options |= {f"dilation_{letter}_factor": 1 for letter in "dhw"}
            options |= {"padding": padding, "fused_activation_function": "RELU"}
            for bias in (None, w(7)):
                value = call("CONV_3D", x(2, 5, 7, 4, 3), w(3, 2, 3, 3, 7), bias, **options)
                yield Case("CONV_3D", f"{padding} by {stride} {bias is None}", value)
            for sizes in ((1, 1, 1), (3, 1, 1), (1, 2, 3)):
                value = call("CONV_3D", x(2, 5, 7, 4, 3), w(*sizes, 3, 7), None, **options)
                yield Case("CONV_3D", f"{padding} by {stride} of {sizes}", value)
            value = call(
                "CONV_3D", x(2, 5, 7, 4, 3), call("ABS", x(3, 2, 3, 3, 7)), w(7), **options
            )
            yield Case("CONV_3D", f"computed weights {padding} by {stride}", value)


def computed_weights_of_other_kinds() -> Iterator[Case]:
    """Groups, several outputs for a channel, transposed convolutions; and computed biases."""
    window = {"padding": "SAME", "stride_h": 2, "stride_w": 1}
    window |= {"dilation_h_factor": 1, "dilation_w_factor": 1}
    image, bias = x(2, 5, 7, 6), call("ABS", x(9))
    grouped = call("CONV_2D", image, call("ABS", x(9, 3, 3, 2)), bias, **window)
    yield Case("CONV_2D", "computed weights of groups", grouped)
    value = call("CONV_2D", image, w(9, 3, 3, 6), bias, **window)
    yield Case("CONV_2D", "computed bias", value)
    several = {**window, "stride_h": 1, "depth_multiplier": 3}
    for weights in (w(1, 3, 3, 9), call("ABS", x(1, 3, 3, 9))):
        value = call("DEPTHWISE_CONV_2D", x(2, 5, 7, 3), weights, bias, **several)
        situation = f"times 3, computed bias, computed weights {isinstance(weights, Call)}"
        yield Case("DEPTHWISE_CONV_2D", situation, value)
    value = call("FULLY_CONNECTED", x(5, 7), w(9, 7), bias)
    yield Case("FULLY_CONNECTED", "computed bias", value)
    value = call("PRELU", x(2, 5, 7, 3), call("ABS", x(7, 3)))
    yield Case("PRELU", "computed slopes", value)
    for padding, size in (("SAME", (10, 21)), ("VALID", (11, 23))):
        options = {"padding": padding, "stride_h": 2, "stride_w": 3}
        options["fused_activation_function"] = "RELU"
        operands = ints(2, *size, 9), call("ABS", x(9, 3, 5, 5)), x(2, 5, 7, 5)
        value = Call("TRANSPOSE_CONV", (*operands, w(9)), options)
        yield Case("TRANSPOSE_CONV", f"computed weights {padding}", value)


TABLES = (computed_weights, computed_weights_of_other_kinds, dilations)
