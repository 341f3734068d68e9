"""Texts of indices: evaluated, they are the places the storages are defined to have."""

from __future__ import annotations

import numpy as np
import pytest

from tflgpu.compiler.codegen.accessors import LinearView, Position, SlicedView
from tflgpu.compiler.devices import profile
from tflgpu.compiler.ops.packing import pack_slices, storage_bytes

SHAPE = (2, 3, 5, 19)


LANES = 4


PROFILES = {4: "cpu", 8: "cpu_avx2", 16: "cpu_avx512"}


def value(text: str, **names: int) -> int:
    """An integer expression of a kernel; its division is of positive numbers."""
    return int(eval(text.replace("/", "//"), {}, names))


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_sliced_views_find_what_packing_puts_there(lanes: int) -> None:
    data = np.random.default_rng(5).standard_normal(SHAPE).astype(np.float32)
    packed = pack_slices(data, lanes)
    view = SlicedView.of("x", SHAPE, lanes)
    assert packed.nbytes == storage_bytes(SHAPE, profile(PROFILES[lanes]))
    assert view.slices == -(-19 // lanes) and view.tail == 19 % lanes
    flat = packed.reshape(-1, lanes)
    text = view.at("b", "y", "x", "s")
    for b, y, x, c in np.ndindex(SHAPE):
        place = value(text, b=b, y=y, x=x, s=c // lanes)
        assert flat[place, c % lanes] == data[b, y, x, c]
    assert not packed[:, -1, ..., view.tail :].any()


def test_a_pixel_and_its_channels() -> None:
    view = SlicedView.of("x", SHAPE, LANES)
    assert view.pixel("b", "y", "x") == view.at("b", "y", "x", "0")
    assert view.channel("at", "s", "lane") == "lane_of(x, at + s * 15, lane)"
    assert SlicedView.of("x", (2, 3, 5, 3), 4).channel("at", "s", "2") == "lane_of(x, at, 2)"


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ((2, 3, 5, 19), "o[((gb * 5 + gs) * 3 + gy) * 5 + gx]"),
        ((19,), "o[gs]"),
        ((1, 3, 1, 19), "o[gs * 3 + gy]"),
        ((2, 1, 1, 1), "splatS(lane_of(o, gb, 0))"),
        ((1,), "splatS(lane_of(o, 0, 0))"),
    ],
)
def test_operands_broadcast_into_sliced_results(shape: tuple[int, ...], text: str) -> None:
    position = Position("gb", "gy", "gx", "gs")
    assert SlicedView.of("o", shape, LANES).broadcast(position, 19) == text


@pytest.mark.parametrize(
    "shape", [SHAPE, (19,), (5, 1), (3, 1, 19), (2, 1, 5, 1), (1, 3, 5, 19), (1, 1, 1, 1)]
)
def test_operands_broadcast_into_linear_results(shape: tuple[int, ...]) -> None:
    text = LinearView.of("o", shape, LANES).broadcast(Position(index="i"), SHAPE)
    places = np.broadcast_to(np.arange(np.prod(shape)).reshape(shape), SHAPE).reshape(-1)
    for index, place in enumerate(places):
        assert value(text[2:-1], i=index) == place


def test_flattened_views_take_a_picture_as_one_row() -> None:
    for view in (SlicedView.of("x", SHAPE, LANES), LinearView.of("x", SHAPE, LANES)):
        flat = view.flattened()
        assert (flat.batches, flat.height, flat.width, flat.channels) == (2, 1, 15, 19)


def test_constants_start_at_their_base() -> None:
    sliced = SlicedView("constants", 1, 1, 7, 4, 4, base=11)
    assert sliced.at("0", "0", "x", "0") == "11 + x"
    assert SlicedView("constants", 1, 1, 1, 4, 4, base=11).at("0", "0", "0", "0") == "11"
    assert LinearView("constants", (7,), 4, base=11).read("i") == "constants[11 + i]"


@pytest.mark.parametrize(
    ("channels", "text"),
    [
        (16, "v"),
        (3, "keep_lanes(v, 3)"),
        (19, "(gs == 4) ? keep_lanes(v, 3) : v"),
    ],
)
def test_lanes_past_the_last_channel_are_cleared(channels: int, text: str) -> None:
    view = SlicedView.of("y", (2, 3, 5, channels), LANES)
    assert view.keep_tail(Position(slice="gs"), "v") == text


def places(view: SlicedView, shape: tuple[int, ...]) -> list[int]:
    """Where a view finds each slice of a tensor of that shape, in the order of the storage."""
    batches, height, width, channels = shape
    text = view.at("b", "y", "x", "s")
    sizes = (batches, -(-channels // view.lanes), height, width)
    return [value(text, b=b, s=s, y=y, x=x) for b, s, y, x in np.ndindex(sizes)]


@pytest.mark.parametrize("start", [(0, 1, 0, 0), (0, 0, 2, 0), (0, 0, 0, 3)])
def test_sliced_views_step_over_gaps(start: tuple[int, ...]) -> None:
    """A tensor cut out along its slices, its rows or its columns, and what it is cut out of."""
    shape = (2, 3, 5, 8)
    sizes = (2, 2, 3, 5)
    whole = [size + 4 * (at > 0) for size, at in zip(sizes, start, strict=True)]
    cut = tuple(slice(at, at + size) for at, size in zip(start, sizes, strict=True))
    expected = np.arange(np.prod(whole)).reshape(whole)[cut]
    axis = start.index(max(start))
    length, pitch = (int(np.prod(list(extent)[axis:])) for extent in (sizes, whole))
    view = SlicedView.of("x", shape, LANES).in_runs(length, pitch)
    assert view is not None and view.gaps
    assert places(view, shape) == (expected - expected.flat[0]).reshape(-1).tolist()
    assert view.plane == expected[0, 1, 0, 0] - expected[0, 0, 0, 0]
    assert value(view.pixel("1", "2", "4")) == expected[1, 0, 2, 4] - expected.flat[0]


def test_runs_that_break_an_axis_are_refused() -> None:
    assert SlicedView.of("x", (2, 3, 5, 8), LANES).in_runs(4, 9) is None
    assert SlicedView.of("x", (2, 3, 5, 8), LANES).flattened().in_runs(5, 9) is None
    assert LinearView.of("x", (2, 3, 5, 8), LANES).in_runs(4, 9) is None


def test_axes_of_one_entry_have_one_coordinate() -> None:
    """A tensor of one row in runs is read by kernels that name any row."""
    view = SlicedView.of("x", (2, 1, 5, 8), LANES).in_runs(5, 20)
    assert view is not None
    assert value(view.at("1", "2", "4", "1")) == (1 * 2 + 1) * 20 + 4


@pytest.mark.parametrize(("length", "pitch"), [(8, 11), (40, 48), (120, 200), (24, 31)])
def test_row_major_views_step_over_gaps(length: int, pitch: int) -> None:
    shape = (2, 3, 5, 8)
    view = LinearView.of("x", shape, LANES).in_runs(length, pitch)
    assert view is not None and view.gaps
    flat = view.read("i")[2:-1]
    coordinates = view.offset("b", "y", "x", "c")
    for i, (b, y, x, c) in enumerate(np.ndindex(shape)):
        expected = i // length * pitch + i % length
        assert value(flat, i=i) == value(coordinates, b=b, y=y, x=x, c=c) == expected


def test_rows_without_pixels_are_whole() -> None:
    assert not LinearView.of("x", (1, 5, 0, 3), 4).broken_rows
