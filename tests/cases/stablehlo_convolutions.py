"""STABLEHLO_CONVOLUTION, of which LiteRT runs the parts: dilations, paddings, groups one by one."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from graphs import Value, call, ints, known, number, reshape, table, transpose, x

from tflgpu.compiler.ir import Array, Shape

from .case import Case

OPERATOR = "STABLEHLO_CONVOLUTION"


@dataclass(frozen=True)
class Axes:
    """The orders of axes: batch, those of the window, channels; outputs, window, inputs."""

    image: tuple[int, ...]
    weights: tuple[int, ...]
    result: tuple[int, ...]

    @property
    def attrs(self) -> dict[str, Any]:
        named = (
            ("input", "batch", "feature", self.image),
            ("kernel", "output_feature", "input_feature", self.weights),
            ("output", "batch", "feature", self.result),
        )
        found: dict[str, Any] = {}
        for operand, first, last, (before, *between, behind) in named:
            found |= {f"{operand}_{first}_dimension": before, f"{operand}_{last}_dimension": behind}
            found[f"{operand}_spatial_dimensions"] = tuple(between)
        return found


CHANNELS_FIRST = Axes((0, 2, 3, 1), (0, 2, 3, 1), (0, 2, 3, 1))
CHANNELS_LAST = Axes((0, 1, 2, 3), (3, 0, 1, 2), (0, 1, 2, 3))
COLUMNS_FIRST = Axes((1, 2, 0, 3), (2, 0, 1, 3), (3, 0, 2, 1))
VOLUMES = Axes((0, 2, 3, 4, 1), (1, 2, 3, 4, 0), (0, 2, 3, 4, 1))
TURNED_VOLUMES = Axes((0, 1, 2, 3, 4), (4, 0, 1, 2, 3), (4, 3, 2, 1, 0))

SITUATIONS: dict[str, tuple[Axes, Shape, Shape, dict[str, Any]]] = {
    "channels first": (
        *(CHANNELS_FIRST, (2, 5, 9, 7), (13, 5, 3, 2)),
        {"window_strides": (2, 1), "padding": (1, 0, 0, 2)},
    ),
    "spread, reversed": (
        *(CHANNELS_LAST, (2, 5, 4, 7), (3, 4, 7, 5)),
        {"padding": (2, 1, 1, 3), "lhs_dilation": (2, 3), "window_reversal": (True, False)},
    ),
    "cropped": (
        *(COLUMNS_FIRST, (9, 2, 7, 5), (3, 2, 6, 5)),
        {"padding": (-2, 1, 1, -1), "lhs_dilation": (1, 2)},
    ),
    "dilated, in groups": (
        *(CHANNELS_FIRST, (2, 15, 9, 7), (6, 5, 3, 2)),
        {"padding": (1, 1, 0, 2), "rhs_dilation": (2, 3), "feature_group_count": 3},
    ),
    "of each channel": (
        *(CHANNELS_LAST, (2, 5, 7, 5), (3, 2, 1, 10)),
        {"window_strides": (1, 2), "padding": (1, 1, 0, 1), "feature_group_count": 5},
    ),
    "in groups of images": (
        *(CHANNELS_LAST, (6, 5, 7, 5), (3, 2, 5, 9)),
        {"padding": (1, 1, 0, 1), "batch_group_count": 3},
    ),
    "of volumes": (
        *(VOLUMES, (2, 5, 3, 4, 5), (5, 7, 2, 3, 3)),
        {"padding": (1, 1, 1, 2, 0, 1), "lhs_dilation": (2, 2, 1)},
    ),
    "of volumes in groups": (
        *(VOLUMES, (2, 6, 5, 4, 5), (3, 8, 3, 2, 2)),
        {
            **{"padding": (1, 2, 0, 0, 0, 1), "window_strides": (2, 1, 1)},
            **{"rhs_dilation": (1, 2, 1), "feature_group_count": 2},
        },
    ),
    "of volumes, of each channel": (
        *(TURNED_VOLUMES, (2, 5, 4, 5, 3), (3, 2, 2, 1, 3)),
        {"padding": (1, 1, 0, 0, 0, 1), "feature_group_count": 3},
    ),
}


def convolutions() -> Iterator[Case]:
    for name, (axes, source, sizes, options) in SITUATIONS.items():
        given = _defaults(len(source) - 2) | options
        values = np.random.default_rng(len(name)).standard_normal(sizes).astype(np.float32)
        value = call(OPERATOR, x(*source), known(values), **given, **axes.attrs)
        yield Case(OPERATOR, name, value, _parts(axes, x(*source), source, values, given))
    values = np.random.default_rng(5).standard_normal((7, 5, 1, 3)).astype(np.float32)
    row = {"window_strides": (2,), "padding": (2, 0), "rhs_dilation": (2,)}
    lines = Axes((0, 2, 1), (0, 2, 1), (0, 2, 1))
    given = _defaults(1) | row
    value = call(OPERATOR, x(2, 5, 17), known(values[:, :, 0]), **given, **lines.attrs)
    image, shape = reshape(x(2, 5, 17), 2, 5, 1, 17), (2, 5, 1, 17)
    rows = {name: (*((0, 0) if name == "padding" else (1,)), *row[name]) for name in row}
    oracle = _parts(CHANNELS_FIRST, image, shape, values, _defaults(2) | rows)
    yield Case(OPERATOR, "along one axis", value, reshape(oracle, 2, 7, 8))
    flat = Axes((0, 1), (1, 0), (1, 0))
    matrix = values.reshape(5, 21)
    value = call(OPERATOR, x(3, 5), known(matrix), **_defaults(0), **flat.attrs)
    oracle = transpose(call("FULLY_CONNECTED", x(3, 5), known(matrix.T.copy()), None), 1, 0)
    yield Case(OPERATOR, "along no axis", value, oracle)
    given = _defaults(2) | {"padding": (1, 0, 0, 2), "window_reversal": (False, True)}
    weights = call("TANH", x(13, 5, 3, 2))
    value = call(OPERATOR, x(2, 5, 9, 7), weights, **given, **CHANNELS_FIRST.attrs)
    turned = call("REVERSE_V2", transpose(weights, 0, 2, 3, 1), ints(2))
    padded = _padded(transpose(x(2, 5, 9, 7), 0, 2, 3, 1), given)
    oracle = transpose(_convolution(padded, turned, 13, given), 0, 3, 1, 2)
    yield Case(OPERATOR, "by computed weights", value, oracle)


def _defaults(count: int) -> dict[str, Any]:
    apart = ("window_strides", "lhs_dilation", "rhs_dilation")
    given = {**dict.fromkeys(apart, (1,) * count), "padding": (0, 0) * count}
    groups = {"feature_group_count": 1, "batch_group_count": 1}
    return {**given, **groups, "window_reversal": (False,) * count}


def _parts(axes: Axes, source: Value, shape: Shape, weights: Array, given: dict[str, Any]) -> Value:
    """Each group by itself, of an image that is spread and padded before."""
    image = _padded(transpose(source, *axes.image), given)
    values = weights.transpose(axes.weights)
    for axis, turned in enumerate(given["window_reversal"], 1):
        values = np.flip(values, axis) if turned else values
    last = len(shape) - 1
    count = given["feature_group_count"] * given["batch_group_count"]
    axis = 0 if given["batch_group_count"] > 1 else last
    parts = []
    for position, own in enumerate(np.split(values, count)):
        begin, size = [0] * len(shape), [-1] * len(shape)
        size[axis] = shape[axes.image[axis]] // count
        begin[axis] = position * size[axis]
        part = call("SLICE", image, ints(*begin), ints(*size))
        order = (0, 1, 2, 3) if last == 3 else (1, 2, 3, 4, 0)
        parts.append(_convolution(part, known(own.transpose(order).copy()), len(own), given))
    whole = parts[0] if count == 1 else call("CONCATENATION", *parts, axis=last)
    return transpose(whole, *(int(axis) for axis in np.argsort(axes.result)))


def _padded(image: Value, given: dict[str, Any]) -> Value:
    """With zeros between elements and around them; or cropped."""
    edges = given["padding"]
    before, after = (0, *edges[::2], 0), (0, *edges[1::2], 0)
    spread = call("DILATE", image, ints(1, *given["lhs_dilation"], 1), number(0.0))
    pads = [(max(low, 0), max(high, 0)) for low, high in zip(before, after, strict=True)]
    padded = call("PAD", spread, table(*pads))
    begin, end = (max(-low, 0) for low in before), (min(high, 0) for high in after)
    whole = sum(1 << axis for axis, high in enumerate(after) if high >= 0)
    operands = padded, ints(*begin), ints(*end), ints(*(1 for _ in before))
    return call("STRIDED_SLICE", *operands, end_mask=whole)


def _convolution(image: Value, weights: Value, outputs: int, given: dict[str, Any]) -> Value:
    """Without padding."""
    steps, apart = given["window_strides"], given["rhs_dilation"]
    letters = "dhw"[3 - len(steps) :]
    attrs: dict[str, Any] = {"padding": "VALID"}
    for letter, stride, dilation in zip(letters, steps, apart, strict=True):
        attrs |= {f"stride_{letter}": stride, f"dilation_{letter}_factor": dilation}
    operands = image, weights, known(np.zeros(outputs, np.float32))
    return call("CONV_2D" if len(steps) == 2 else "CONV_3D", *operands, **attrs)


TABLES = (convolutions,)
