"""Operators fused into others."""

from collections.abc import Iterator

import numpy as np
from graphs import Value, call, ints, known, w, x

from .case import Case
from .convolutions import conv, depthwise, window
from .transposed_convolutions import transposed


def producers() -> dict[str, Value]:
    """Operators that others can be fused into; each gives [2, 3, 5, 19]."""
    pool = {"filter_height": 3, "filter_width": 3, "stride_h": 1, "stride_w": 1, "padding": "SAME"}
    transposition = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    return {
        "convolution": conv(x(2, 3, 5, 7), (19, 7)),
        "1x1 convolution": conv(x(2, 3, 5, 7), (19, 7), (1, 1)),
        "grouped convolution": conv(x(2, 3, 5, 38), (19, 2)),
        "depthwise convolution": depthwise(x(2, 3, 5, 19)),
        "transposed convolution": transposed(
            x(2, 3, 5, 7), 19, (3, 3), (3, 5), True, **transposition
        ),
        "fully connected": call(
            "FULLY_CONNECTED", x(2, 3, 5, 7), w(19, 7), w(19), keep_num_dims=True
        ),
        "average pool": call("AVERAGE_POOL_2D", x(2, 3, 5, 19), **pool),
        "maximum pool": call("MAX_POOL_2D", x(2, 3, 5, 19), **pool),
        "resize": call("RESIZE_BILINEAR", x(2, 2, 7, 19), ints(3, 5)),
        "nearest resize": call("RESIZE_NEAREST_NEIGHBOR", x(2, 2, 7, 19), ints(3, 5)),
        "softmax": call("SOFTMAX", x(2, 3, 5, 19), beta=1.0),
        "slice": call("SLICE", x(2, 5, 7, 23), ints(0, 1, 2, 3), ints(2, 3, 5, 19)),
        "pad": call(
            "PAD", x(2, 2, 5, 19), known(np.array([[0, 0], [1, 0], [0, 0], [0, 0]], np.int32))
        ),
        "transpose": call("TRANSPOSE", x(2, 19, 3, 5), ints(0, 2, 3, 1)),
        "concatenation": call("CONCATENATION", x(2, 3, 5, 16), x(2, 3, 5, 3), axis=3),
        "ragged concatenation": call("CONCATENATION", x(2, 3, 5, 3), x(2, 3, 5, 16), axis=3),
        "mean": call("MEAN", x(2, 4, 3, 5, 19), ints(1), keep_dims=False),
        "reshape": call("RESHAPE", x(2, 15, 19), ints(2, 3, 5, 19)),
        "addition": call("ADD", x(2, 3, 5, 19), x(2, 3, 5, 19)),
    }


def fusions() -> Iterator[Case]:
    """A producer and a chain of elementwise operators whose operands broadcast in every way."""
    for situation, produced in producers().items():
        value = call("ADD", produced, x(2, 3, 5, 19))
        value = call("MUL", call("RELU", value), w(19))
        value = call("SUB", x(2, 1, 1, 19), value)
        value = call("MAXIMUM", value, w(2, 3, 1, 1))
        value = call("DIV", value, x(1, 3, 5, 1, draw="away from zero"))
        yield Case("fused", f"chain on {situation}", call("TANH", value))
    for axis in ((1,), (1, 2), (2,)):
        mean = call("MEAN", x(2, 7, 11, 19), ints(*axis), keep_dims=True)
        square = call("SQUARED_DIFFERENCE", mean, w(19))
        yield Case("fused", f"mean over {axis}", call("SQRT", call("ADD", square, w(1))))
    image = x(2, 3, 5, 19)
    gated = conv(image, (19, 19), (1, 1))
    yield Case("fused", "swish", call("MUL", gated, call("LOGISTIC", gated)))
    yield Case("fused", "value used twice", call("MUL", call("ABS", gated), call("SQUARE", gated)))
    residual = call("ADD", conv(image, (19, 19)), image)
    yield Case("fused", "residual", call("RELU6", residual))
    both = call("ADD", conv(image, (19, 19)), conv(image, (19, 19), (1, 1)))
    yield Case("fused", "two convolutions", both)
    squeezed = call("MEAN", image, ints(1, 2), keep_dims=True)
    gate = call("LOGISTIC", conv(squeezed, (19, 19), (1, 1)))
    yield Case("fused", "squeeze and excite", call("MUL", image, gate))
    filtered = depthwise(x(1, 3, 5, 64))
    squeezed = call("MEAN", filtered, ints(1, 2), keep_dims=True)
    gate = call("LOGISTIC", conv(squeezed, (64, 64), (1, 1)))
    excited = conv(call("MUL", filtered, gate), (19, 64), (1, 1))
    yield Case("fused", "squeeze and excite of few pixels", excited)
    flat = call("RESHAPE", conv(image, (7, 19)), ints(2, 105))
    yield Case("fused", "dense after a reshape", call("FULLY_CONNECTED", flat, w(11, 105), w(11)))
    scaled = call("ADD", call("MUL", conv(image, (7, 19)), w(7)), w(1, 1, 1, 7))
    yield Case("fused", "batch normalization", call("RELU", scaled))
    doubled = call("DIV", call("SUB", depthwise(image), w(19)), w(1, draw="away from zero"))
    yield Case("fused", "scaled depthwise convolution", doubled)
    table = known(np.array([[0, 0], [1, 2], [0, 3], [0, 0]], np.int32))
    padded = conv(call("PAD", image, table), (7, 19), **window("VALID", (2, 2)))
    yield Case("fused", "padded convolution", padded)
    padded = conv(call("PAD", image, table), (7, 19))
    yield Case("fused", "padded SAME convolution", padded)
    behind = known(np.array([[0, 0], [0, 0], [0, 0], [0, 12]], np.int32))
    shortcut = call("PAD", x(2, 3, 5, 7), behind)
    yield Case(
        "fused", "padded shortcut", call("RELU", call("ADD", conv(image, (19, 19)), shortcut))
    )
    shuffled = call("RESHAPE", call("ABS", x(2, 3, 5, 6)), ints(2, 3, 5, 2, 3))
    shuffled = call("TRANSPOSE", shuffled, ints(0, 1, 2, 4, 3))
    shuffled = call("RESHAPE", shuffled, ints(2, 3, 5, 6))
    yield Case("fused", "channel shuffle", call("RELU", shuffled))
    early = call("ABS", image)
    yield Case("fused", "an inner value is an output", [early, conv(early, (7, 19))])
    yield Case("fused", "an output twice removed", [early, call("RESHAPE", early, ints(2, 285))])
    yield Case("fused", "an input is an output", [call("RESHAPE", image, ints(2, 3, 95)), early])
    norm = call("SUB", image, call("MEAN", image, ints(3), keep_dims=True))
    spread = call("MEAN", call("SQUARE", norm), ints(3), keep_dims=True)
    deviation = call("RSQRT", call("ADD", spread, known(np.array([0.001], np.float32))))
    layer = call("ADD", call("MUL", call("MUL", norm, deviation), w(19)), w(19))
    yield Case("fused", "layer normalization", layer)


def shared_kernels() -> Iterator[Case]:
    """A kernel that computes a depthwise convolution, too, or stores a value on the way."""
    for batch, channels, stride in ((2, 5, 1), (1, 11, 2)):
        image, steps = x(batch, 9, 7, channels), {"stride_h": stride, "stride_w": stride}
        taps = w(1, 3, 3, channels), w(channels)
        near = call("DEPTHWISE_CONV_2D", image, *taps, padding="SAME", depth_multiplier=1, **steps)
        weights = w(7, 1, 1, channels), w(7)
        unit = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
        value = call("RELU6", call("CONV_2D", call("RELU", near), *weights, **unit))
        yield Case("DEPTHWISE_CONV_2D", f"thin, stride {stride}", value)
    value = call("SIN", call("CONV_2D", x(1, 5, 7, 3), w(6, 1, 1, 3), w(6), **unit))
    twice = [call("CONV_2D", call("PRELU", value, w(1, 1, 6)), w(5, 1, 1, 6), w(5), **unit)]
    twice.append(
        call(
            "SPACE_TO_DEPTH",
            call("PAD", value, known(np.array([(0, 0), (0, 1), (1, 0), (0, 0)], np.int32))),
            block_size=2,
        )
    )
    yield Case("PRELU", "of a value stored twice", twice)


TABLES = (fusions, shared_kernels)
