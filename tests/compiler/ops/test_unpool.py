"""Pools with places, custom operators LiteRT's interpreter lacks, against loops in numpy."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement import run
from devices import Attached
from graphs.operators import file_of
from numpy.typing import NDArray

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.ir import Op, Tensor

Array = NDArray[Any]

SHAPE = (2, 7, 9, 5)


def options(padding: str, size: tuple[int, int], stride: tuple[int, int]) -> bytes:
    """LiteRT's struct of pools."""
    number = {"SAME": 1, "VALID": 2}[padding]
    return struct.pack("<6i", number, stride[1], stride[0], size[1], size[0], 0)


def pool(
    x: Array, padding: str, size: tuple[int, int], stride: tuple[int, int]
) -> tuple[Array, Array]:
    """Maxima, and their places in the windows, 0.1 above."""
    pads, counts = [], []
    for extent, length, step in zip(x.shape[1:3], size, stride, strict=True):
        count = -(-extent // step) if padding == "SAME" else (extent - length) // step + 1
        counts.append(count)
        pads.append(max((count - 1) * step + length - extent, 0) // 2 if padding == "SAME" else 0)
    wide = [(0, 0), (pads[0], size[0]), (pads[1], size[1]), (0, 0)]
    padded = np.pad(x, wide, constant_values=-np.inf)
    values = np.empty((x.shape[0], *counts, x.shape[3]), np.float32)
    places = np.empty_like(values)
    for row, column in np.ndindex(*counts):
        top, left = row * stride[0], column * stride[1]
        window = padded[:, top : top + size[0], left : left + size[1]]
        flat = window.reshape(x.shape[0], -1, x.shape[3])
        values[:, row, column] = flat.max(1)
        places[:, row, column] = flat.argmax(1) + np.float32(0.1)
    return values, places


def unpool(values: Array, places: Array, size: tuple[int, int]) -> Array:
    """The values of windows side by side at their places, zeros elsewhere."""
    batch, rows, columns, channels = values.shape
    result = np.zeros((batch, rows * size[0], columns * size[1], channels), np.float32)
    for b, row, column, channel in np.ndindex(*values.shape):
        down, across = divmod(int(places[b, row, column, channel]), size[1])
        result[b, row * size[0] + down, column * size[1] + across, channel] = values[
            b, row, column, channel
        ]
    return result


def computed(content: bytes, folder: Path, device: str, x: Array) -> list[Array]:
    compiled = pipeline.build(content, Options(device="cpu_avx512"))
    return [*run(compiled, device, folder, {"x": x}).values()]


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("size, stride", [((2, 2), (2, 2)), ((3, 2), (1, 3)), ((3, 3), (2, 2))])
def test_pool_with_places(
    padding: str, size: tuple[int, int], stride: tuple[int, int], opencl_device: str, tmp_path: Path
) -> None:
    x = np.random.default_rng(1).standard_normal(SHAPE).astype(np.float32)
    wanted = pool(x, padding, size, stride)
    source = Tensor("x", SHAPE)
    outputs = tuple(Tensor(name, wanted[0].shape) for name in ("values", "places"))
    attrs = {"custom_options": options(padding, size, stride)}
    content = file_of(Op("MaxPoolingWithArgmax2D", (source,), outputs, attrs))
    for result, value in zip(computed(content, tmp_path, opencl_device, x), wanted, strict=True):
        np.testing.assert_array_equal(result, value)


@pytest.mark.parametrize("size", [(2, 2), (3, 2)])
def test_there_and_back(size: tuple[int, int], opencl_device: str, tmp_path: Path) -> None:
    shape = (2, 3 * size[0], 5 * size[1], 5)
    x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    values, places = pool(x, "SAME", size, size)
    source, back = Tensor("x", shape), Tensor("back", shape)
    between = tuple(Tensor(name, values.shape) for name in ("values", "places"))
    attrs = {"custom_options": options("SAME", size, size)}
    content = file_of(
        Op("MaxPoolingWithArgmax2D", (source,), between, attrs),
        Op("MaxUnpooling2D", between, (back,), dict(attrs)),
    )
    (result,) = computed(content, tmp_path, opencl_device, x)
    np.testing.assert_array_equal(result, unpool(values, places, size))


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_places_counted_in_the_whole_picture(
    padding: str, attached: Attached, tmp_path: Path
) -> None:
    """LiteRT's operator: the last value at a place stays, places elsewhere hold zeros."""
    random = np.random.default_rng(3)
    shape, size, stride = (2, 3, 4, 5), (2, 3), (2, 2)
    wide = [
        count * step if padding == "SAME" else (count - 1) * step + length
        for count, step, length in zip(shape[1:3], stride, size, strict=True)
    ]
    pixels = random.integers(0, wide[0] * wide[1], shape)
    places = (pixels * shape[3] + np.arange(shape[3])).astype(np.int32)
    values = random.standard_normal(shape).astype(np.float32)
    wanted = np.zeros((shape[0], *wide, shape[3]), np.float32)
    for at in np.ndindex(*shape):
        wanted[at[0]].reshape(-1)[places[at]] = values[at]
    inputs = Tensor("values", shape), Tensor("places", shape, "int32")
    attrs = {"custom_options": options(padding, size, stride)}
    content = file_of(Op("LiteRtMaxUnpooling2D", inputs, (Tensor("back", wanted.shape),), attrs))
    chosen = Options(target=attached.target, device=attached.device)
    given = {"values": values, "places": places}
    found = run(pipeline.build(content, chosen), attached.device, tmp_path, given)
    np.testing.assert_array_equal(found["back"], wanted)
