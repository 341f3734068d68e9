"""Texts of indices: evaluated, they are the places the storages are defined to have."""

from dataclasses import replace

import numpy as np
import pytest

from tflgpu.compiler.accessors import Accessor, Buffer, Linear, Position, Sliced, accessor
from tflgpu.compiler.accessors.codecs import Floats, Numbers
from tflgpu.compiler.devices import profile
from tflgpu.compiler.ir import Shape, Tensor, Whole
from tflgpu.compiler.language.expression import Name
from tflgpu.compiler.language.language import GLSL, OPENCL, Language
from tflgpu.compiler.language.printing import CPrinter
from tflgpu.compiler.language.statement import Statements
from tflgpu.compiler.language.types import FLOATS
from tflgpu.compiler.ops.base.storage import LINEAR, pack_slices, sliced_bytes
from tflgpu.compiler.target import Target

SHAPE = (2, 3, 5, 19)
LANES = 4
TARGETS = {
    4: Target(profile("cpu")),
    8: Target(profile("cpu_avx2")),
    16: Target(profile("cpu_avx512")),
}


def stored(found: Accessor, position: Position) -> str:
    """The statements that store a slice, on one line."""
    return text_of(found, found.write(position, V))


def text_of(found: Accessor, statements: Statements) -> str:
    """Statements on one line."""
    printer = CPrinter(found.memory.language, found.lanes)
    return " ".join(printer.printed(statements).body.split())


def sliced(shape: Shape, lanes: int = LANES, array: str = "x") -> Sliced:
    return Sliced.of(Buffer(array, OPENCL, lanes), Floats(), shape)


def linear(shape: Shape, array: str = "x") -> Linear:
    return Linear(Buffer(array, OPENCL, LANES), Numbers(), shape)


B, Y, X, S, C, INDEX = (Name(name) for name in "byxsci")
GB, GY, GX, GS = (Name(name) for name in ("gb", "gy", "gx", "gs"))
V = Name("v", FLOATS)


def value(found: object, **names: int) -> int:
    """An integer expression of a kernel; its division is of positive numbers."""
    return int(eval(str(found).replace("/", "//"), {}, names))


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_sliced_accessors_find_what_packing_puts_there(lanes: int) -> None:
    data = np.random.default_rng(5).standard_normal(SHAPE).astype(np.float32)
    packed = pack_slices(data, lanes)
    accessor = sliced(SHAPE, lanes)
    assert packed.nbytes == sliced_bytes(SHAPE, TARGETS[lanes])
    assert accessor.slices == -(-19 // lanes) and accessor.tail == 19 % lanes
    flat = packed.reshape(-1, lanes)
    text = accessor.index(B, Y, X, S)
    for b, y, x, c in np.ndindex(SHAPE):
        place = value(text, b=b, y=y, x=x, s=c // lanes)
        assert flat[place, c % lanes] == data[b, y, x, c]
    assert not packed[:, -1, ..., accessor.tail :].any()


def test_a_pixel_and_its_channels() -> None:
    accessor = sliced(SHAPE)
    assert accessor.pixel(B, Y, X) == accessor.index(B, Y, X, 0)
    assert str(accessor.channel(Name("at"), S, Name("lane"))) == "lane_of(x, at + s * 15, lane)"
    assert str(sliced((2, 3, 5, 3)).channel(Name("at"), S, 2)) == "lane_of(x, at, 2)"


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ((2, 3, 5, 19), "o[((gb * 5 + gs) * 3 + gy) * 5 + gx]"),
        ((19,), "o[gs]"),
        ((1, 3, 1, 19), "o[gs * 3 + gy]"),
        ((2, 1, 1, 1), "(float4)(lane_of(o, gb, 0))"),
        ((1,), "(float4)(lane_of(o, 0, 0))"),
    ],
)
def test_operands_broadcast_into_sliced_results(shape: tuple[int, ...], text: str) -> None:
    position = Position(GB, GY, GX, GS)
    assert str(sliced(shape, array="o").broadcast(position, (2, 3, 5, 19))) == text


@pytest.mark.parametrize(
    "shape", [SHAPE, (19,), (5, 1), (3, 1, 19), (2, 1, 5, 1), (1, 3, 5, 19), (1, 1, 1, 1)]
)
def test_operands_broadcast_into_linear_results(shape: tuple[int, ...]) -> None:
    text = str(linear(shape, "o").broadcast(Position(index=INDEX), SHAPE))
    places = np.broadcast_to(np.arange(np.prod(shape)).reshape(shape), SHAPE).reshape(-1)
    for index, place in enumerate(places):
        assert value(text[2:-1], i=index) == place


def test_operands_broadcast_along_leading_axes_repeat_as_they_lie() -> None:
    for shape in ((3, 5, 19), (1, 3, 5, 19)):
        text = str(linear(shape, "o").broadcast(Position(index=INDEX), SHAPE))
        assert text == "o[i % 285]"


def test_flattened_accessors_take_a_picture_as_one_row() -> None:
    for found in (sliced(SHAPE), linear(SHAPE)):
        flat = found.flattened()
        assert (flat.batches, flat.height, flat.width, flat.channels) == (2, 1, 15, 19)


def test_constants_start_at_their_base() -> None:
    assert str(replace(sliced((1, 1, 7, 4)), base=11).index(0, 0, X, 0)) == "x + 11"
    assert str(replace(sliced((1, 1, 1, 4)), base=11).index(0, 0, 0, 0)) == "11"
    assert str(replace(linear((7,)), base=11).read(INDEX)) == "x[i + 11]"


@pytest.mark.parametrize(
    ("channels", "text"),
    [(16, "v"), (3, "keep_lanes(v, 3)"), (19, "gs == 4 ? keep_lanes(v, 3) : v")],
)
def test_lanes_past_the_last_channel_are_cleared(channels: int, text: str) -> None:
    accessor = sliced((2, 3, 5, channels), array="y")
    assert str(accessor.keep_tail(Position(slice=GS), V)) == text


def places(accessor: Sliced, shape: tuple[int, ...]) -> list[int]:
    """Where a accessor finds each slice of a tensor of that shape, in the order of the storage."""
    batches, height, width, channels = shape
    text = accessor.index(B, Y, X, S)
    sizes = (batches, -(-channels // accessor.lanes), height, width)
    return [value(text, b=b, s=s, y=y, x=x) for b, s, y, x in np.ndindex(sizes)]


@pytest.mark.parametrize("start", [(0, 1, 0, 0), (0, 0, 2, 0), (0, 0, 0, 3)])
def test_sliced_accessors_step_over_gaps(start: tuple[int, ...]) -> None:
    """A tensor cut out along its slices, its rows or its columns, and what it is cut out of."""
    shape = (2, 3, 5, 8)
    sizes = (2, 2, 3, 5)
    whole = [size + 4 * (at > 0) for size, at in zip(sizes, start, strict=True)]
    cut = tuple(slice(at, at + size) for at, size in zip(start, sizes, strict=True))
    expected = np.arange(np.prod(whole)).reshape(whole)[cut]
    axis = start.index(max(start))
    length, pitch = (int(np.prod(list(extent)[axis:])) for extent in (sizes, whole))
    accessor = sliced(shape).in_runs(length, pitch)
    assert accessor is not None and accessor.gaps
    assert places(accessor, shape) == (expected - expected.flat[0]).reshape(-1).tolist()
    assert accessor.plane == expected[0, 1, 0, 0] - expected[0, 0, 0, 0]
    assert value(accessor.pixel(1, 2, 4)) == expected[1, 0, 2, 4] - expected.flat[0]


def test_runs_that_break_an_axis_are_refused() -> None:
    assert sliced((2, 3, 5, 8)).in_runs(4, 9) is None
    assert sliced((2, 3, 5, 8)).flattened().in_runs(5, 9) is None
    assert linear((2, 3, 5, 8)).in_runs(4, 9) is None


def test_axes_of_one_entry_have_one_coordinate() -> None:
    """A tensor of one row in runs is read by kernels that name any row."""
    accessor = sliced((2, 1, 5, 8)).in_runs(5, 20)
    assert accessor is not None
    assert value(accessor.index(1, 2, 4, 1)) == (1 * 2 + 1) * 20 + 4


@pytest.mark.parametrize(("length", "pitch"), [(8, 11), (40, 48), (120, 200), (24, 31)])
def test_row_major_accessors_step_over_gaps(length: int, pitch: int) -> None:
    shape = (2, 3, 5, 8)
    accessor = linear(shape).in_runs(length, pitch)
    assert accessor is not None and accessor.gaps
    flat = str(accessor.read(INDEX))[2:-1]
    coordinates = accessor.index(B, Y, X, C)
    for i, (b, y, x, c) in enumerate(np.ndindex(shape)):
        expected = i // length * pitch + i % length
        assert value(flat, i=i) == value(coordinates, b=b, y=y, x=x, c=c) == expected


def test_rows_without_pixels_are_whole() -> None:
    assert not linear((1, 5, 0, 3)).broken_rows


@pytest.mark.parametrize(
    ("language", "dtype", "stored", "read", "written"),
    [
        (OPENCL, "int8", "int8", "(int)x[i]", "x[i] = v;"),
        (OPENCL, "int16", "int", "x[i]", "x[i] = v;"),
        (GLSL, "int8", "int8", "int8_at(x, i)", "set_byte(x, i, v);"),
        (GLSL, "uint8", "uint8", "uint8_at(x, i)", "set_byte(x, i, v);"),
    ],
)
def test_integers_of_8_bits_are_bytes(
    language: Language, dtype: str, stored: str, read: str, written: str
) -> None:
    found = accessor("x", Tensor("x", (5, 7), dtype), LINEAR, Target(profile("cpu"), language))
    assert isinstance(found, Linear)
    assert (found.stored, found.element) == (stored, "int")
    assert (str(found.read(INDEX)), text_of(found, found.assign(INDEX, V))) == (read, written)


@pytest.mark.parametrize(
    ("language", "channels", "text"),
    [
        (OPENCL, 8, "store_lanes(x, gx * 8 + gs * 4, int8_numbers(v, -3));"),
        (GLSL, 8, "store_word(x, gx * 8 + gs * 4, whole_numbers(v, -3));"),
        (
            OPENCL,
            2,
            "int to = gx * 2; x[to] = whole_number(v.x, -3); x[to + 1] = whole_number(v.y, -3);",
        ),
        (
            GLSL,
            2,
            "int to = gx * 2; set_byte(x, to, whole_number(v.x, -3)); "
            "set_byte(x, to + 1, whole_number(v.y, -3));",
        ),
    ],
)
def test_slices_become_bytes_of_a_row_major_tensor(
    language: Language, channels: int, text: str
) -> None:
    tensor = Tensor("x", (1, 1, 5, channels), "int8")
    target = Target(profile("cpu"), language)
    found = accessor("x", tensor, LINEAR, target, by_slices=True, zero_point=-3)
    assert stored(found, Position(0, 0, GX, GS if channels > 4 else 0)) == text


@pytest.mark.parametrize(
    ("language", "bits", "read", "written"),
    [
        (OPENCL, 8, "(float)x[i] - 3.0f", "x[i] = whole_number(v, 3);"),
        (OPENCL, 16, "(float)x[i] - 3.0f", "x[i] = whole_number(v, 3);"),
        (GLSL, 8, "float(uint8_at(x, i)) - 3.0f", "set_byte(x, i, whole_number(v, 3));"),
        (GLSL, 16, "float(uint16_at(x, i)) - 3.0f", "set_short(x, i, whole_number(v, 3));"),
    ],
)
def test_whole_numbers_are_floats_in_kernels(
    language: Language, bits: int, read: str, written: str
) -> None:
    tensor = Tensor("x", (5, 8), whole=Whole(bits, -3))
    target = Target(profile("gpu"), language)
    found = accessor("x", tensor, LINEAR, target)
    assert isinstance(found, Linear)
    assert (found.stored, found.element) == (f"uint{bits}", "float")
    assert (str(found.read(INDEX)), text_of(found, found.assign(INDEX, V))) == (read, written)
    rows = accessor("x", tensor, LINEAR, target, by_slices=True)
    texts = {
        "opencl": f"store_lanes(x, gx * 8 + gs * 4, uint{bits}_numbers(v, 3));",
        "glsl": f"{'store_word' if bits == 8 else 'store_two_words'}"
        "(x, gx * 8 + gs * 4, whole_numbers(v, 3));",
    }
    assert stored(rows, Position(0, 0, GX, GS)) == texts[language.name]


@pytest.mark.parametrize(
    ("language", "channels", "text"),
    [
        (OPENCL, 3, "vstore3(v.xyz, 0, x + gx * 3);"),
        (
            OPENCL,
            7,
            "int to = gx * 7 + gs * 4; if (gs < 1) set_lanes_at(x, to, v); "
            "else vstore3(v.xyz, 0, x + to);",
        ),
        (
            GLSL,
            5,
            "int to = gx * 5 + gs * 4; x[to] = v.x; "
            "if (gs < 1) { x[to + 1] = v.y; x[to + 2] = v.z; x[to + 3] = v.w; }",
        ),
    ],
)
def test_only_channels_are_stored_of_the_last_slice(
    language: Language, channels: int, text: str
) -> None:
    target = Target(profile("cpu"), language)
    found = accessor("x", Tensor("x", (1, 1, 5, channels)), LINEAR, target, by_slices=True)
    assert stored(found, Position(0, 0, GX, GS if channels > 4 else 0)) == text


def test_many_lanes_are_stored_in_the_largest_vectors() -> None:
    found = accessor("x", Tensor("x", (1, 1, 5, 14)), LINEAR, TARGETS[16], by_slices=True)
    assert stored(found, Position(0, 0, GX, 0)) == (
        "int to = gx * 14; vstore8(v.s01234567, 0, x + to); vstore4(v.s89ab, 0, x + to + 8); "
        "vstore2(v.scd, 0, x + to + 12);"
    )
