"""Parts of tensors that lie within wholes: nothing is copied, and the numbers stay right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from expressions import Value, call, ints, known, parts, w, x
from rewrites import assert_agrees, compiled

from tflgpu.runtime.plan import Region

WINDOW = {"padding": "SAME", "stride_h": 1, "stride_w": 1}


def conv(image: Value, outputs: int, inputs: int) -> Value:
    return call("CONV_2D", image, w(outputs, 3, 3, inputs), w(outputs), **WINDOW)


def concat(axis: int, *values: Value) -> Value:
    return call("CONCATENATION", *values, axis=axis)


def whole_slices() -> Value:
    """Branches of 16 and 32 channels and one of 7, put behind each other and read by others."""
    image = x(1, 5, 7, 3)
    first, second, third = conv(image, 16, 3), conv(image, 32, 3), conv(image, 7, 3)
    return call("TANH", conv(concat(3, first, second, third), 19, 55))


def nested() -> Value:
    image = x(1, 5, 7, 3)
    inner = concat(3, conv(image, 16, 3), conv(image, 16, 3))
    return conv(concat(3, conv(image, 16, 3), inner), 5, 48)


def heads() -> Value:
    """What detectors end with: pictures of different sizes as rows of one table."""
    image = x(1, 8, 6, 3)
    pooled = call(
        "MAX_POOL_2D",
        image,
        padding="SAME",
        stride_h=2,
        stride_w=2,
        filter_height=2,
        filter_width=2,
    )
    rows = [
        call("RESHAPE", conv(image, 10, 3), ints(1, 96, 5), new_shape=(1, 96, 5)),
        call("RESHAPE", conv(pooled, 10, 3), ints(1, 24, 5), new_shape=(1, 24, 5)),
    ]
    return concat(1, *rows)


def repeated() -> Value:
    """A part that is there twice."""
    image = x(1, 5, 7, 3)
    part = conv(image, 16, 3)
    return conv(concat(3, part, part, conv(image, 16, 3)), 5, 48)


def split_channels() -> list[Value]:
    halves = parts("SPLIT", 2, known(np.int32(3)), conv(x(1, 5, 7, 3), 32, 3), num_splits=2)
    return [conv(halves[0], 5, 16), call("TANH", halves[1])]


def split_rows() -> list[Value]:
    rows = parts("SPLIT", 3, known(np.int32(0)), call("TANH", x(3, 5, 7, 3)), num_splits=3)
    return [call("EXP", row) for row in rows]


def copies(value: Value | list[Value], *off: str) -> list[str]:
    labels = [dispatch.label for dispatch in compiled(value, "cpu_avx512", *off).plan.dispatches]
    return [label for label in labels if label.startswith(("CONCATENATION", "SPLIT"))]


@pytest.mark.parametrize("build", [whole_slices, nested, heads, split_channels, split_rows])
def test_nothing_is_copied(build: object) -> None:
    assert callable(build)
    assert not copies(build())


def test_a_part_that_is_there_twice_is_copied_once() -> None:
    assert len(copies(repeated())) == 1


def test_a_part_that_is_an_output_is_copied() -> None:
    part = conv(x(1, 5, 7, 3), 16, 3)
    program = compiled([part, call("TANH", concat(0, part, x(1, 5, 7, 16)))])
    reasons = [event.reason for event in program.events if event.rule == "share_memory"]
    assert any(reason and "is an input or output of the model" in reason for reason in reasons)


def test_parts_lie_within_their_whole() -> None:
    tensors = {tensor.name: tensor for tensor in compiled(nested()).plan.tensors}
    wholes = [t for name, t in tensors.items() if "CONCATENATION" in name]
    outer = max(wholes, key=lambda t: t.size)
    inside = [
        t
        for name, t in tensors.items()
        if t.region == Region.ARENA and "/CONV_2D" in name and t.shape[3] == 16
    ]
    assert len(inside) == 3
    spans = sorted((t.offset, t.offset + t.size) for t in inside)
    assert all(outer.offset <= start and end <= outer.offset + outer.size for start, end in spans)


def unaligned() -> list[Value]:
    """Values that start amid a slice of their whole, read slice by slice and row-major."""
    values = []
    for lanes in (4, 16):
        picture = conv(x(1, 7, 5, 3), lanes, 3)
        row = call("RESHAPE", picture, ints(1, 35 * lanes), new_shape=(1, 35 * lanes))
        values.append(concat(1, x(1, 5), row))
        values.append(call("DEPTHWISE_CONV_2D", picture, w(1, 3, 3, lanes), w(lanes), **WINDOW))
    return values


def test_parts_amid_a_slice_are_copied(tmp_path: Path) -> None:
    assert_agrees(unaligned(), tmp_path)


def test_numbers_agree(tmp_path: Path) -> None:
    values: list[Value] = [whole_slices(), nested(), heads(), repeated(), *split_channels()]
    part = conv(x(1, 5, 7, 3), 16, 3)
    values += [*split_rows(), part, call("TANH", concat(0, part, x(1, 5, 7, 16)))]
    values += [concat(1, conv(x(1, 5, 7, 3), 11, 3), conv(x(1, 3, 7, 3), 11, 3))]
    assert_agrees(values, tmp_path)
