"""Cases of operators that are spelled out in others, or known before a kernel runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from case import Case
from expressions import Call, Part, Value, call, ints, known, typed, w, x, xi
from flatbuffers import flexbuffers

from tflgpu.compiler.ir import Quantization


def blocks() -> Iterator[Case]:
    for channels in (3, 16, 32):
        for size in (2, 3):
            shape = (2, 2 * size, 5 * size, channels)
            value = call("SPACE_TO_DEPTH", x(*shape), block_size=size)
            yield Case("SPACE_TO_DEPTH", f"{shape} by {size}", value)
            shape = (2, 3, 5, channels * size * size)
            value = call("DEPTH_TO_SPACE", x(*shape), block_size=size)
            yield Case("DEPTH_TO_SPACE", f"{shape} by {size}", value)
        for pads in ([[0, 0], [0, 0]], [[1, 2], [0, 3]]):
            table = known(np.array(pads, np.int32))
            sizes = [6 - sum(pads[0]), 9 - sum(pads[1])]
            value = call("SPACE_TO_BATCH_ND", x(2, *sizes, channels), ints(2, 3), table)
            yield Case("SPACE_TO_BATCH_ND", f"{channels} {pads}", value)
            value = call("BATCH_TO_SPACE_ND", x(12, 5, 7, channels), ints(2, 3), table)
            yield Case("BATCH_TO_SPACE_ND", f"{channels} {pads}", value)
    table = known(np.array([[1, 2]], np.int32))
    value = call("SPACE_TO_BATCH_ND", x(2, 7, 5), ints(2), table)
    yield Case("SPACE_TO_BATCH_ND", "rank 3", value)
    value = call("BATCH_TO_SPACE_ND", x(6, 7, 5), ints(2), table)
    yield Case("BATCH_TO_SPACE_ND", "rank 3", value)
    for dtype in ("int32", "int64"):
        value = typed(dtype, "SPACE_TO_DEPTH", xi(2, 4, 6, 3, dtype=dtype), block_size=2)
        yield Case("SPACE_TO_DEPTH", dtype, value)


def suppressions() -> Iterator[Case]:
    corners = np.random.default_rng(3).uniform(0, 1, (41, 2, 2)).astype(np.float32)
    boxes = known(np.concatenate([corners[:, 0], corners[:, 0] + corners[:, 1]], 1))
    limits = known(np.array(0.3, np.float32)), known(np.array(0.2, np.float32))
    for most in (7, 41):
        operands = boxes, x(41, draw="positive"), known(np.array(most, np.int32)), *limits
        value = Call("NON_MAX_SUPPRESSION_V4", operands, outputs=2, dtype="int32")
        yield Case("NON_MAX_SUPPRESSION_V4", f"{most}", [Part(value, 0), Part(value, 1)])
        for sigma in (0.0, 0.5):
            softly = (*operands, known(np.array(sigma, np.float32)))
            types = ("int32", "float32", "int32")
            value = Call("NON_MAX_SUPPRESSION_V5", softly, outputs=3, dtypes=types)
            results = [Part(value, position) for position in range(3)]
            yield Case("NON_MAX_SUPPRESSION_V5", f"{most} sigma {sigma}", results)


def updates() -> Iterator[Case]:
    for starts in ([1, 0, 2], [-3, 4, 9]):
        operands: tuple[Value, ...] = x(3, 5, 7), x(2, 5, 4), xi(3, draw="places")
        computed = typed("int32", "ADD", operands[2], known(np.array(starts, np.int32)))
        value = call("DYNAMIC_UPDATE_SLICE", *operands[:2], computed)
        yield Case("DYNAMIC_UPDATE_SLICE", f"{starts}", value)
    operands = xi(5, dtype="int64"), xi(2, dtype="int64"), ints(2)
    value = typed("int64", "DYNAMIC_UPDATE_SLICE", *operands)
    yield Case("DYNAMIC_UPDATE_SLICE", "of integers", value)


def known_beforehand() -> Iterator[Case]:
    """Operators whose results follow from shapes and constants."""
    image = x(2, 3, 5)
    zeros = call("ZEROS_LIKE", image)
    yield Case("ZEROS_LIKE", "of an input", call("ADD", image, zeros))
    rank = typed("int32", "RANK", image)
    yield Case("RANK", "of an input", typed("int32", "MUL", xi(5), rank))
    steps = (
        known(np.array(7, np.int32)),
        known(np.array(-4, np.int32)),
        known(np.array(-3, np.int32)),
    )
    yield Case(
        "RANGE", "downwards", typed("int32", "ADD", xi(3, 4), typed("int32", "RANGE", *steps))
    )
    value = call("FILL", ints(3, 5), x())
    yield Case("FILL", "with a computed value", call("ADD", x(5), value))
    mask = known(np.array([[True, False, True], [False, False, True]]))
    places = typed("int64", "WHERE", mask)
    yield Case("WHERE", "of a constant", call("GATHER_ND", x(2, 3, 5), places))
    joint = typed("int32", "BROADCAST_ARGS", ints(3, 1), ints(2, 1, 5))
    yield Case(
        "BROADCAST_ARGS", "of two", Call("BROADCAST_TO", (x(3, 1), joint), shapes=((2, 3, 5),))
    )


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


def quantized_weights() -> Iterator[Case]:
    """LiteRT rounds the inputs, too, where it gets such weights, so it gets the real ones here."""
    random = np.random.default_rng(31)
    levels = random.integers(-128, 128, (9, 3, 3, 5)).astype(np.int8)
    scales = tuple(0.01 * (1 + i) for i in range(9))
    weights = known(levels, Quantization(scales, (0,) * 9, 0))
    real = known(levels * np.array(scales, np.float32).reshape(9, 1, 1, 1))
    window = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    window |= {"dilation_h_factor": 1, "dilation_w_factor": 1}
    image, bias = x(2, 5, 7, 5), w(9)
    value, same = (call("CONV_2D", image, each, bias, **window) for each in (weights, real))
    yield Case("CONV_2D", "quantized weights", value, oracle=same)
    levels = random.integers(0, 256, (9, 5)).astype(np.uint8)
    weights = known(levels, Quantization((0.037,), (121,)))
    real = known((levels - np.float32(121)) * np.float32(0.037))
    value, same = (call("FULLY_CONNECTED", x(3, 5), each, bias) for each in (weights, real))
    yield Case("FULLY_CONNECTED", "quantized weights", value, oracle=same)


def experts() -> Iterator[Case]:
    """Two of three experts for each of seven tokens."""
    for activation in ("gelu", "gelu_tanh"):
        options = flexbuffers.Builder()
        with options.Map():
            for name, size in (("num_experts", 3), ("model_dim", 5), ("hidden_dim", 11)):
                options.Int(name, size)
            options.Int("num_active_experts", 2)
            options.String("activation", activation)
            options.String("weight_type", "fp32")
        routing = x(1, 7, 5), x(1, 7, 2, draw="positive"), xi(1, 7, 2, draw="places")
        matrices = w(11, 3, 1, 5), w(11, 3, 1, 5), w(5, 3, 1, 11), w(1, 1, 1, 3)
        raw = {"custom_options": bytes(options.Finish())}
        yield Case("moe", activation, Call("moe", (*routing, *matrices), raw))


def detections() -> Iterator[Case]:
    random = np.random.default_rng(23)
    centres = random.uniform(0.2, 0.8, (37, 2))
    anchors = known(np.concatenate([centres, np.full((37, 2), 0.2)], 1).astype(np.float32))
    ways = (
        ("5 of 37", 0, 5, 1, None),
        ("19 of 37, with background", 1, 19, 1, None),
        ("three classes for a box", 1, 5, 3, None),
        ("class by class", 1, 19, 1, 100),
        ("class by class, two of each", 0, 19, 1, 2),
    )
    for situation, background, most, for_a_box, of_a_class in ways:
        options = flexbuffers.Builder()
        with options.Map():
            for name, scale in (("y", 10.0), ("x", 10.0), ("h", 5.0), ("w", 5.0)):
                options.Float(f"{name}_scale", scale)
            options.Float("nms_iou_threshold", 0.4)
            options.Float("nms_score_threshold", 0.3)
            options.Int("max_detections", most)
            options.Int("max_classes_per_detection", for_a_box)
            options.Int("detections_per_class", of_a_class or 100)
            options.Int("num_classes", 7)
            options.Bool("use_regular_nms", of_a_class is not None)
        scores = x(1, 37, 7 + background, draw="positive")
        attrs = {"custom_options": bytes(options.Finish())}
        operands = x(1, 37, 4), scores, anchors
        value = Call("TFLite_Detection_PostProcess", operands, attrs, outputs=4)
        results = [Part(value, position) for position in range(4)]
        yield Case("TFLite_Detection_PostProcess", situation, results)


def transforms() -> Iterator[Case]:
    parts = ("COMPLEX_ABS", "IMAG", "REAL")
    spectrum = typed("complex64", "RFFT2D", x(3, 1, 32), ints(1, 32))
    yield Case("RFFT2D", "all parts of rows", [call(part, spectrum) for part in parts])
    for shape, size in (((2, 5, 21), (8, 16)), ((4, 13), (4, 32))):
        for part in parts:
            spectrum = typed("complex64", "RFFT2D", x(*shape), ints(*size))
            yield Case(part, f"of {shape} over {size}", call(part, spectrum))


def bits() -> Iterator[Case]:
    yield Case("BITWISE_XOR", "int32", typed("int32", "BITWISE_XOR", xi(3, 5), xi(5)))
    shifted = typed("int32", "RIGHT_SHIFT", xi(3, 5), xi(3, 5, draw="counts"))
    yield Case("RIGHT_SHIFT", "int32", shifted)
    yield Case("BITCAST", "to integers", typed("int32", "BITCAST", x(3, 5)))
    yield Case("BITCAST", "to floats", call("BITCAST", xi(3, 5, draw="large")))
