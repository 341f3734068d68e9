"""Views: what is joined or split is not copied, and the numbers stay right."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from graphs import Value, call, ints, known, model, parts, transpose, w, x
from rewriting import assert_agrees, compiled

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.ir import Graph, Tensor
from tflgpu.compiler.memory.aliases import Aliases
from tflgpu.compiler.ops.base.view import StridedLayout, View
from tflgpu.compiler.tools.explain import explain
from tflgpu.runtime.plan.records import Region

OPTIONS = Options(device="cpu_avx512", fallback="none")

WINDOW = {"padding": "SAME", "stride_h": 1, "stride_w": 1}


def conv(image: Value, outputs: int, inputs: int) -> Value:
    return call("CONV_2D", image, w(outputs, 3, 3, inputs), w(outputs), **WINDOW)


def concat(axis: int, *values: Value) -> Value:
    return call("CONCATENATION", *values, axis=axis)


def whole_slices(batch: int = 1) -> Value:
    """Branches of 16 and 32 channels and one of 7, put behind each other and read by others."""
    image = x(batch, 5, 7, 3)
    first, second, third = conv(image, 16, 3), conv(image, 32, 3), conv(image, 7, 3)
    return call("TANH", conv(concat(3, first, second, third), 19, 55))


def nested(batch: int = 1) -> Value:
    image = x(batch, 5, 7, 3)
    inner = concat(3, conv(image, 16, 3), conv(image, 16, 3))
    return conv(concat(3, conv(image, 16, 3), inner), 5, 48)


def heads(batch: int = 1) -> Value:
    """What detectors end with: pictures of different sizes as rows of one table."""
    image = x(batch, 8, 6, 3)
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
        call("RESHAPE", conv(image, 10, 3), ints(batch, 96, 5), new_shape=(batch, 96, 5)),
        call("RESHAPE", conv(pooled, 10, 3), ints(batch, 24, 5), new_shape=(batch, 24, 5)),
    ]
    return concat(1, *rows)


def repeated() -> Value:
    """A part that is there twice."""
    image = x(1, 5, 7, 3)
    part = conv(image, 16, 3)
    return conv(concat(3, part, part, conv(image, 16, 3)), 5, 48)


def beside(axis: int) -> Value:
    """Pictures below or beside each other."""
    image = call("NEG", x(2, 5, 7, 35))
    filtered = call("DEPTHWISE_CONV_2D", image, w(1, 3, 3, 35), w(35), **WINDOW)
    whole = concat(axis, call("TANH", image), filtered)
    return call("MAX_POOL_2D", whole, filter_height=3, filter_width=3, **WINDOW)


def beside_in_store() -> list[Value]:
    """Pictures beside each other, of which one is added to what is computed for each pixel."""
    image = x(2, 5, 7, 16)
    left, right = conv(image, 16, 16), conv(image, 16, 16)
    added = call("ADD", call("CONV_2D", image, w(16, 1, 1, 16), w(16), **WINDOW), left)
    whole = concat(2, left, right)
    return [call("MAX_POOL_2D", whole, filter_height=3, filter_width=3, **WINDOW), added]


def stacked() -> Value:
    image = call("NEG", x(3, 5, 7, 16))
    layers = [call(name, image) for name in ("ABS", "TANH", "EXP")]
    return call("TANH", call("PACK", *layers, axis=1, values_count=3))


def split_channels(batch: int = 1) -> list[Value]:
    halves = parts("SPLIT", 2, known(np.int32(3)), conv(x(batch, 5, 7, 3), 32, 3), num_splits=2)
    return [conv(halves[0], 5, 16), call("TANH", halves[1])]


def split_rows() -> list[Value]:
    rows = parts("SPLIT", 3, known(np.int32(0)), call("TANH", x(3, 5, 7, 3)), num_splits=3)
    return [call("EXP", row) for row in rows]


def picture(columns: int) -> list[Value]:
    """A row-major picture within a table, whose gaps are behind every few columns."""
    shape = (70 // columns, 3 * columns)
    image = call("TRANSPOSE", x(*reversed(shape)), ints(1, 0))
    seen = call("RESHAPE", image, ints(2, 5, 7, 3), new_shape=(2, 5, 7, 3))
    return [conv(seen, 11, 3), concat(1, image, call("TANH", x(shape[0], 4)))]


def copies(value: Value | list[Value]) -> list[str]:
    labels = [dispatch.label for dispatch in compiled(value).plan.dispatches]
    return [label for label in labels if label.startswith(("CONCATENATION", "SPLIT"))]


WITHOUT_GAPS = (whole_slices(), nested(), heads(), split_channels(), split_rows())

WITH_GAPS = (
    *(nested(3), heads(3), beside(1), stacked(), split_channels(3)),
    *(picture(7), picture(10)),
)


@pytest.mark.parametrize("value", [*WITHOUT_GAPS, *WITH_GAPS])
def test_nothing_is_copied(value: Value | list[Value]) -> None:
    assert not copies(value)


def test_kernels_step_over_gaps(tmp_path: Path) -> None:
    values: list[Value] = [beside(2), amid_slices()]
    for value in WITH_GAPS:
        values += value if isinstance(value, list) else [value]
    assert_agrees(tmp_path, *values)


def growing(batch: int, wide: int) -> Value:
    """What DenseNets are made of: each layer's result goes behind all those before it."""
    value, channels = conv(x(batch, 5, 7, 3), 32, 3), 32
    for _ in range(4):
        value = concat(3, value, conv(conv(call("TANH", value), wide, channels), 32, wide))
        channels += 32
    return conv(value, 5, channels)


@pytest.mark.parametrize("batch", [1, 3])
def test_as_few_parts_are_copied_as_memory_allows(batch: int) -> None:
    """The largest tensor of the second cannot be there from the beginning, all others can."""
    assert not copies(growing(batch, 32))
    assert len(copies(growing(batch, 128))) == 2
    assert ["peak of live memory" in told for told in reasons(growing(batch, 128))] == [True]


def reasons(value: Value | list[Value]) -> list[str]:
    """Why parts are copied, in order."""
    events = [event for event in compiled(value).events if event.rewrite == "place_views"]
    return [event.reason for event in events if event.reason]


def test_explain_says_what_is_copied(tmp_path: Path) -> None:
    told = explain(model({"y": beside(2)}).content, OPTIONS, lambda stage, done, total: None)
    assert [event for event in told.events if event.rewrite == "place_views"] == [
        event for event in compiled(beside(2)).events if event.rewrite == "place_views"
    ]


def amid_slices() -> Value:
    """Parts of 32, 7, 9 and 5 channels: only the second and the third share a slice."""

    def pool(value: Value) -> Value:
        return call("MAX_POOL_2D", value, filter_height=3, filter_width=3, **WINDOW)

    return pool(concat(3, *(pool(x(2, 5, 7, channels)) for channels in (32, 7, 9, 5))))


def test_only_parts_that_share_a_slice_are_copied() -> None:
    assert len(copies(amid_slices())) == 2
    assert [told.count("on slices of 16 channels") for told in reasons(amid_slices())] == [2]


@pytest.mark.parametrize(
    ("value", "name"), [(beside(2), "y/TANH1.0"), (beside_in_store(), "y/CONV_2D0.0")]
)
def test_gaps_within_a_row_are_in_the_way_of_kernels_that_take_all_pixels_as_one(
    value: Value | list[Value], name: str
) -> None:
    told = f"1 of 2 parts is copied: a kernel cannot skip the gaps that {name} would have"
    assert reasons(value) == [told]


def test_parts_are_kept_together_to_be_readable() -> None:
    options = replace(OPTIONS, keep_intermediates=True)
    program = pipeline.build(model({"y": beside(1)}).content, options)
    told = [event.reason for event in program.events if event.rewrite == "place_views"]
    assert told[0] and "readable after the run" in told[0]
    shapes = [tensor.shape for tensor in program.plan.tensors]
    assert shapes.count((2, 5, 7, 35)) >= 2


def test_a_part_that_is_there_twice_is_copied_once() -> None:
    assert len(copies(repeated())) == 1


def test_a_part_that_is_an_output_is_copied() -> None:
    part = conv(x(1, 5, 7, 3), 16, 3)
    told = reasons([part, call("TANH", concat(0, part, x(1, 5, 7, 16)))])
    assert any("is an input, output or variable of the model" in reason for reason in told)


def test_parts_lie_within_a_whole_with_gaps_of_one_kind() -> None:
    part, inner, whole = (Tensor(name, (size,)) for name, size in (("a", 16), ("b", 48), ("c", 96)))
    sizes = {tensor: 4 * tensor.elements for tensor in (part, inner, whole)}
    aliases = Aliases(Graph(), sizes, dict.fromkeys(sizes, 4))
    aliases.place(View(part, inner, StridedLayout(0, 16, 48)))
    told = "b would be cut along two axes of c"
    assert aliases.unsupported_reason(View(inner, whole, StridedLayout(0, 64, 128))) == told
    assert aliases.unsupported_reason(View(inner, whole, StridedLayout(0, 48, 96))) is None
    told = "b would extend past the end of c"
    assert aliases.unsupported_reason(View(inner, whole, StridedLayout(256, 192, 192))) == told


def test_no_kernel_of_wgsl_has_a_place_in_two_arguments() -> None:
    """Which begin at multiples of 256 bytes there."""
    options = Options(target="wgsl", device="webgpu", fallback="none")
    image = call("NEG", x(1, 2, 3, 4))
    made = model({"y": call("EXP", concat(1, image, call("TANH", image)))})
    events = pipeline.build(made.content, options).events
    told = [event.reason for event in events if event.rewrite == "place_views"]
    assert told == ["1 of 2 parts is copied: NEG would have y/TANH1.0 in two arguments"]


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


def test_columns_are_repeated_along_rows(tmp_path: Path) -> None:
    """Of a whole with 2 columns and of one with more columns than a slice has lanes."""
    for columns in (2, 19):
        place = ints(0, 0, columns - 1), ints(4, 64, 1)
        column = call("SLICE", call("TANH", x(4, 64, columns)), *place)
        assert_agrees(tmp_path / str(columns), call("MUL", column, w(64, 64)))


def test_columns_become_rows(tmp_path: Path) -> None:
    """Columns that lie beside others are moved in slices: by taking them apart, by turning them."""
    for columns in (2, 19):
        place = ints(0, 0, columns - 1), ints(32, 64, 1)
        taken = [call("SLICE", call("TANH", x(32, 64, columns)), *place) for _ in range(2)]
        (row,) = parts("UNPACK", 1, taken[0], num=1, axis=2)
        turned = transpose(taken[1], 2, 1, 0)
        assert_agrees(tmp_path / str(columns), row, turned)


def test_columns_become_short_rows(tmp_path: Path) -> None:
    """Elements of a row of the result lie as far apart in the input as its rows are long."""
    whole = call("TANH", x(4, 3, 5, 10))
    column = call("SLICE", whole, ints(0, 0, 0, 6), ints(4, 3, 5, 1))
    assert_agrees(tmp_path, whole, transpose(column, 1, 3, 0, 2))


def test_parts_amid_a_slice_are_copied(tmp_path: Path) -> None:
    assert_agrees(tmp_path, *unaligned())


def test_numbers_agree(tmp_path: Path) -> None:
    values: list[Value] = [whole_slices(), nested(), heads(), repeated(), *split_channels()]
    part = conv(x(1, 5, 7, 3), 16, 3)
    values += [*split_rows(), part, call("TANH", concat(0, part, x(1, 5, 7, 16)))]
    values += [concat(1, conv(x(1, 5, 7, 3), 11, 3), conv(x(1, 3, 7, 3), 11, 3))]
    assert_agrees(tmp_path, *values)
