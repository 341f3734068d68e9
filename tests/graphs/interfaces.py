"""The models that the scripts run: small ones, each with another kind of interface."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from paths import DIGITS_MODEL

from .altered import altered
from .build import model
from .detections import detected
from .signatures import two_signatures
from .values import (
    Call,
    State,
    Value,
    affine,
    call,
    ints,
    known,
    largest,
    quantized,
    reshape,
    typed,
    w,
    x,
    xi,
    xq,
)
from .variables import running_total

WINDOW: dict[str, Any] = {"padding": "SAME", "stride_h": 2, "stride_w": 2}
WINDOW |= {"dilation_h_factor": 1, "dilation_w_factor": 1}


def write_models(folder: Path) -> None:
    """Write every model into a folder."""
    contents = {
        "digits": DIGITS_MODEL.read_bytes(),
        "signatures": two_signatures(),
        "running_total": running_total(),
        "batches": batches(),
    }
    for name, expressions in EXPRESSIONS.items():
        contents[name] = model(expressions).content
    for name, content in contents.items():
        (folder / f"{name}.tflite").write_bytes(content)


def batches() -> bytes:
    """A classifier of 5 numbers for any number of rows."""

    def leave_open(content: Any) -> None:
        for tensor in content.subgraphs[0].tensors:
            if tensor.buffer == 0 or tensor.shape[0] == 1:
                tensor.shapeSignature = np.array([-1, *tensor.shape[1:]], np.int32)

    graph = model({"class": call("SOFTMAX", layer(x(1, 5), 3, 5), beta=1.0)}).graph
    return altered(leave_open, graph)


def layer(value: Value, outputs: int, inputs: int) -> Call:
    return call("FULLY_CONNECTED", value, w(outputs, inputs, draw="weights"), w(outputs))


def conv(image: Value, outputs: int, inputs: int) -> Call:
    weights = w(outputs, 3, 3, inputs, draw="positive")
    return call("CONV_2D", image, weights, w(outputs), **WINDOW)


def quantized_classifier(dtype: str, zero: int) -> Value:
    """An image of 8x8 in, 5 classes out, of 8 bits."""
    random = np.random.default_rng(3)
    weights_zero = zero if dtype == "uint8" else 0  # int8 weights are symmetric in LiteRT
    filters = known(random.integers(1, 100, (5, 3, 3, 3)).astype(dtype), affine(0.01, weights_zero))
    bias = known(np.arange(5, dtype=np.int32) * 100, affine(0.0005))
    image = xq(1, 8, 8, 3, dtype=dtype, zero=zero)
    kind: dict[str, Any] = {"dtype": dtype, "scale": 0.1, "zero": zero}
    features = quantized("CONV_2D", image, filters, bias, **kind, **WINDOW)
    scores = quantized("MEAN", features, ints(1, 2), **kind, keep_dims=False)
    low = -128 if dtype == "int8" else 0
    return quantized("SOFTMAX", scores, dtype=dtype, scale=1 / 256, zero=low, beta=1.0)


def detections() -> list[Value]:
    """Boxes, classes, scores and their number, of 12 anchors and 3 classes."""
    random = np.random.default_rng(23)
    centres = random.uniform(0.2, 0.8, (12, 2))
    anchors = np.concatenate([centres, np.full((12, 2), 0.3)], 1).astype(np.float32)
    operands = x(1, 12, 4), x(1, 12, 4, draw="positive"), known(anchors)
    return detected(*operands, max_detections=4, num_classes=3)


def detector() -> dict[str, Value]:
    """Boxes and scores of an image of 16x16, before any suppression."""
    image = x(1, 16, 16, 3, draw="positive")
    boxes = reshape(conv(conv(image, 4, 3), 8, 4), 1, 32, 4)
    return {"boxes": call("LOGISTIC", boxes)}


def streaming() -> list[Value]:
    """A frame and a state in, a filtered frame and the next state out."""
    frame, state = x(1, 16), x(1, 16)
    mixed = call("ADD", call("MUL", frame, known(np.float32(0.25))), state)
    following = call("TANH", mixed)
    return [following, call("MUL", following, known(np.float32(0.5)))]


def sparse_words() -> Value:
    words = typed("float32", "GATHER", w(20, 6), xi(1, 7), axis=0, batch_dims=0)
    return call("L2_NORMALIZATION", call("MEAN", words, ints(1), keep_dims=False))


def keeping() -> Value:
    """What SVDF says of a sequence, whose state is in the model."""
    operands = (x(1, 4), w(6, 4), w(6, 5), w(6), State((1, 30)))
    return call("SVDF", *operands, rank=1, fused_activation_function="NONE")


def upscaled() -> Value:
    features = conv(x(1, 8, 8, 1), 4, 1)
    return call("DEPTH_TO_SPACE", features, block_size=2)


def segments(image: Value) -> Value:
    size = ints(16, 16)
    return call("RESIZE_BILINEAR", conv(image, 3, 3), size, half_pixel_centers=True)


# The expressions of each model.
EXPRESSIONS: Mapping[str, Mapping[str, Value | Sequence[Value]]] = {
    "uint8": {"class": quantized_classifier("uint8", 128)},
    "int8": {"class": quantized_classifier("int8", 3)},
    "postprocess": {"found": detections()},
    "detector": {**detector()},
    "segmenter": {"mask": segments(x(1, 16, 16, 3))},
    "segmenter_labels": {
        "mask": typed("int64", "ARG_MAX", segments(x(1, 16, 16, 3)), ints(3), output_type="int64")
    },
    "streaming": {"frame": streaming()},
    "keyword": {"scores": keeping()},
    "words": {"embedding": sparse_words()},
    "upscale": {"image": upscaled()},
    "regression": {"value": layer(call("TANH", layer(x(1, 1), 8, 1)), 1, 8)},
    "pair": {"distance": call("SQUARED_DIFFERENCE", x(1, 9), x(1, 9))},
    "branches": {"age": layer(x(1, 6), 1, 6), "mood": layer(x(1, 6), 4, 6)},
    "topk": {"best": largest(x(1, 23), 3)},
    "heatmaps": {"joints": conv(x(1, 16, 16, 3), 5, 3)},
    "threshold": {"above": typed("bool", "GREATER", x(1, 7), known(np.float32(0.1)))},
}
