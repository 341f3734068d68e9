"""Models for fixed sizes, compiled for others: as if they had been converted for these."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement import assert_litert, difference, run
from devices import fitting_profiles
from graphs import (
    Body,
    Call,
    State,
    Value,
    call,
    drawn,
    ints,
    known,
    model,
    number,
    parts,
    reshape,
    table,
    transpose,
    typed,
    w,
    x,
    xi,
)

from tflgpu.compiler import ModelError, Options, pipeline
from tflgpu.compiler.ir import Shape
from tflgpu.compiler.ir.sizes import by_now, regroup, sizes_of
from tflgpu.compiler.litert.reference import Reference
from tflgpu.compiler.resized_model import fitted_model

# A model for given sizes of its input, as a converter for fixed sizes writes it.
Made = Callable[..., Value]

WIDTH, HEADS = 12, 3


def positions(rows: int, *shape: int) -> Value:
    """The first rows of a table of positions."""
    return known(drawn("table", (19, *shape), "normal")[:rows])


def attention(batch: int, rows: int) -> Value:
    tokens = x(batch, rows, WIDTH)
    flat = reshape(tokens, batch * rows, WIDTH)

    def heads(order: tuple[int, ...], *merged: int) -> Value:
        layer = call("FULLY_CONNECTED", flat, w(WIDTH, WIDTH), w(WIDTH))
        apart = reshape(layer, batch, rows, HEADS, WIDTH // HEADS)
        return reshape(transpose(apart, *order), batch * HEADS, *merged)

    depth = WIDTH // HEADS
    query = heads((0, 2, 1, 3), rows, depth)
    scores = call("BATCH_MATMUL", query, heads((0, 2, 3, 1), depth, rows))
    masked = call("ADD", scores, known(np.tril(np.full((rows, rows), 9.0, np.float32))))
    powers = call("SOFTMAX", masked, beta=1.0)
    joined = call("BATCH_MATMUL", powers, heads((0, 2, 1, 3), rows, depth))
    apart = reshape(joined, batch, HEADS, rows, depth)
    return reshape(transpose(apart, 0, 2, 1, 3), batch, rows, WIDTH)


def layer_norm(batch: int, rows: int) -> Value:
    """A converter reduces a batch of one together with the channels."""
    tokens = call("ADD", reshape(x(batch, rows * WIDTH), batch, rows, WIDTH), number(0.5))
    axes = ints(0, 2) if batch == 1 else ints(2)
    mean = reshape(call("MEAN", tokens, axes), batch, rows, 1)
    square = call("SQUARED_DIFFERENCE", tokens, mean)
    spread = call("RSQRT", call("ADD", call("MEAN", square, axes), number(1e-5)))
    return call("MUL", call("SUB", tokens, mean), reshape(spread, batch, rows, 1))


def mean_alone(batch: int, rows: int) -> Value:
    """LiteRT can run it for other batches, but mixes their entries."""
    axes = ints(0, 2) if batch == 1 else ints(2)
    tokens = x(batch, rows, WIDTH)
    return call("SUB", tokens, call("MEAN", tokens, axes, keep_dims=True))


def open_size(batch: int, rows: int) -> Value:
    """LiteRT can run it for other batches, but takes them into the size that is left open."""
    halves = reshape(x(batch, rows * WIDTH), batch, 1, 2, -1)
    return call("SOFTMAX", halves, beta=1.0)


def embedded(batch: int, rows: int) -> Value:
    ids = typed("int32", "RESHAPE", xi(batch, rows, draw="counts"), ints(batch * rows))
    found = reshape(call("EMBEDDING_LOOKUP", ids, w(23, WIDTH)), batch, rows, WIDTH)
    return call("ADD", found, positions(rows, WIDTH))


def classified(batch: int, rows: int) -> Value:
    """A token of the class before others, which is taken at the end."""
    first = known(np.repeat(drawn("class", (1, 1, WIDTH), "normal"), batch, 0))
    tokens = call("CONCATENATION", first, x(batch, rows, WIDTH), axis=1)
    flat = reshape(tokens, batch * (rows + 1), WIDTH)
    layer = call("FULLY_CONNECTED", flat, w(WIDTH, WIDTH), w(WIDTH))
    apart = reshape(layer, batch, rows + 1, WIDTH)
    return call("SLICE", apart, ints(0, 0, 0), ints(batch, 1, WIDTH))


def whole_parts(batch: int, rows: int) -> Value:
    tokens = x(batch, rows, WIDTH)
    part = call("SLICE", tokens, ints(0, 0, 4), ints(batch, rows, 8))
    ends, steps = ints(batch, rows, 7), ints(1, 1, 1)
    other = call("STRIDED_SLICE", part, ints(0, 0, 1), ends, steps)
    repeated = call("BROADCAST_TO", reshape(other, batch, rows, 1, 6), ints(batch, rows, 7, 6))
    return reshape(repeated, batch, rows * 7, 6)


def rest(batch: int, rows: int) -> Value:
    """Parts that name only some of the axes, or take all that follow."""
    tokens = reshape(reshape(x(batch, rows, WIDTH), batch * rows, WIDTH), batch, rows, WIDTH)
    part = call("SLICE", tokens, ints(0, 0, 4), ints(-1, rows, -1))
    ends, steps = ints(0, batch, 0, 7), ints(1, 1, 1, 1)
    masks = {"new_axis_mask": 1, "ellipsis_mask": 4}
    other = call("STRIDED_SLICE", part, ints(0, 0, 0, 1), ends, steps, **masks)
    return reshape(other, batch, rows * 6)


def masked(batch: int, rows: int) -> Value:
    """A mask of keys beside one of queries, taken by indices of all elements."""
    places = np.stack(np.meshgrid(range(batch), range(rows), indexing="ij"), -1)
    keys = call(
        "GATHER_ND", x(batch, rows), known(places.reshape(batch, 1, rows, 2).astype("int32"))
    )
    queries = known(np.arange(19, dtype=np.float32)[:rows].reshape(1, rows, 1))
    return call("SOFTMAX", call("ADD", queries, keys), beta=1.0)


def joined(batch: int, rows: int) -> Value:
    """A layer joins a batch to the rows, and its results are added where a batch is one."""
    tokens = x(batch, rows, WIDTH)
    flat = call("FULLY_CONNECTED", tokens, w(WIDTH, WIDTH), w(WIDTH), keep_num_dims=False)
    same = flat if batch == 1 else reshape(flat, batch, rows, WIDTH)
    return reshape(call("MUL", same, tokens), batch, rows * WIDTH)


def repeated(batch: int, rows: int) -> Value:
    """The mean of the rows beside each of them, whose axis a batch of one takes."""
    tokens = reshape(reshape(x(batch, rows, WIDTH), batch * rows, WIDTH), batch, rows, WIDTH)
    mean = call("MEAN", tokens, ints(1))
    same = mean if batch == 1 else reshape(mean, batch, 1, WIDTH)
    return call("SUB", same, tokens)


def biased_heads(batch: int, rows: int) -> Value:
    """A table of heads beside heads to which a batch has been joined."""
    heads = reshape(x(batch, 4, rows, 6), batch * 4, rows, 6)
    same = heads if batch == 1 else reshape(heads, batch, 4, rows, 6)
    return reshape(
        call("ADD", same, known(drawn("heads", (1, 4, 1, 6), "normal"))), batch, 4, rows * 6
    )


def image(batch: int, height: int, width: int) -> Value:
    conv = {"padding": "SAME", "stride_h": 2, "stride_w": 2}
    pixels = transpose(reshape(x(batch, 3, height * width), batch, 3, height, width), 0, 2, 3, 1)
    half = call("CONV_2D", pixels, w(5, 3, 3, 3), w(5), **conv)
    size = ints(batch, height, width, 4)
    larger = call("TRANSPOSE_CONV", size, w(4, 3, 3, 5), half, **conv)
    resized = call("RESIZE_BILINEAR", half, ints(height, width), half_pixel_centers=True)
    both = call("CONCATENATION", larger, resized, axis=3)
    return reshape(both, batch, height * width, 9)


def products(batch: int, rows: int) -> Value:
    """A converter leaves out a batch of one, and writes products of matrices as layers."""
    tokens = x(batch, rows, WIDTH)
    keys = call("FULLY_CONNECTED", tokens, w(WIDTH, WIDTH), keep_num_dims=True)
    if batch > 1:
        scores = call("BATCH_MATMUL", tokens, keys, adj_y=True)
        powers = call("SOFTMAX", scores, beta=1.0)
        return reshape(call("BATCH_MATMUL", powers, keys), batch, rows * WIDTH)
    keys = reshape(keys, rows, WIDTH)
    scores = call("FULLY_CONNECTED", tokens, keys)
    powers = reshape(call("SOFTMAX", reshape(scores, 1, rows, rows), beta=1.0), rows, rows)
    return reshape(call("BATCH_MATMUL", powers, keys), 1, rows * WIDTH)


def pyramid(batch: int, height: int, width: int) -> Value:
    """The mean of a map is resized to the map, as in DeepLab."""
    pixels = call("ADD", x(batch, height, width, 4), number(0.5))
    mean = call("RELU", call("MEAN", pixels, ints(1, 2), keep_dims=True))
    whole = call("RESIZE_BILINEAR", mean, ints(height, width))
    return call("CONCATENATION", pixels, whole, axis=3)


def volume(batch: int, depth: int) -> Value:
    size = ints(batch, 2 * depth, 2, 3, 5)
    strides = {"stride_d": 2, "stride_h": 1, "stride_w": 1}
    value = x(batch, depth, 2, 3, 4)
    return call("CONV_3D_TRANSPOSE", size, w(3, 3, 3, 5, 4), value, padding="SAME", **strides)


def dilated(batch: int, rows: int) -> Value:
    """A convolution of rows with gaps of one, as TensorFlow writes it, in both directions."""
    apart = call("SPACE_TO_BATCH_ND", x(batch, rows, 4), ints(2), table((2, 0)))
    image = reshape(apart, 2 * batch, 1, rows // 2 + 1, 4)
    strides = {"stride_h": 1, "stride_w": 1}
    conv = call("CONV_2D", image, w(5, 1, 2, 4), w(5), padding="VALID", **strides)
    flat = reshape(conv, 2 * batch, rows // 2, 5)
    whole = call("BATCH_TO_SPACE_ND", flat, ints(2), table((0, 0)))
    turned = call("REVERSE_V2", whole, ints(1))
    return reshape(call("TILE", turned, ints(1, 1, 2)), batch, rows * 10)


def spectrum(batch: int) -> Value:
    waves = typed("complex64", "RFFT2D", x(batch, 4, 16), ints(4, 16))
    return reshape(call("COMPLEX_ABS", waves), batch, 36)


def recurrent(batch: int, steps: int, major: bool = False) -> Value:
    """Layers with a state for each of a batch, the first of them with time first if it is major."""
    attrs = {"fused_activation_function": "TANH"}
    rows = x(*((steps, batch) if major else (batch, steps)), 3)
    state = State((batch, 5))
    layer = (rows, w(5, 3), w(5, 5), w(5), state)
    first = call("UNIDIRECTIONAL_SEQUENCE_RNN", *layer, time_major=major, **attrs)
    gates = [*(w(7, 5) for _ in range(4)), *(w(7, 7) for _ in range(4)), *[None] * 3]
    states = [State((batch, 7)), State((batch, 7))]
    operands = [*gates, *(w(7) for _ in range(4)), None, None, *states]
    clips = {"cell_clip": 0.0, "proj_clip": 0.0, "time_major": major}
    second = call("UNIDIRECTIONAL_SEQUENCE_LSTM", first, *operands, **clips, **attrs)
    return call("FULLY_CONNECTED", second, w(2, 7), w(2), keep_num_dims=True)


def time_first(steps: int, batch: int) -> Value:
    return recurrent(batch, steps, major=True)


def steps(batch: int, count: int) -> Value:
    """Step by step, the last one first; what is left at the end and at the start is stacked."""

    def turned(rows: Value, *shape: int) -> Value:
        return reshape(rows, *shape) if batch == 1 else transpose(rows, 1, 0, 2)

    layer = call("FULLY_CONNECTED", x(batch, count, 3), w(5, 3), w(5), keep_num_dims=True)
    entries = call("REVERSE_V2", turned(layer, count, 1, 5), ints(0))
    states: list[Value] = []
    for step in range(count):
        state = call("SLICE", entries, ints(step, 0, 0), ints(1, batch, 5))
        if states:
            state = call("ADD", state, call("FULLY_CONNECTED", states[-1], w(5, 5), None))
        states.append(call("TANH", state))
    whole = turned(call("CONCATENATION", *states, axis=0), 1, count, 5)
    ends = (reshape(state, batch, 5) for state in (states[-1], states[0]))
    stacked = reshape(call("CONCATENATION", *ends, axis=0), 2, batch, 5)
    return call("CONCATENATION", whole, turned(stacked, 1, 2, 5), axis=1)


def chosen(batch: int, rows: int) -> Value:
    """Elements of each entry that constants of the batch's shape replace."""
    table = drawn("table", (rows, 5), "normal")
    mask, other = (known(np.repeat(part[None], batch, 0)) for part in (table > 0, table))
    return call("SELECT", mask, other, call("TANH", x(batch, rows, 5)))


# A model, the sizes for which it is made, and those for which it is compiled.
CASES: dict[str, tuple[Made, Shape, Shape]] = {
    "attention of a batch": (attention, (1, 19), (4, 19)),
    "attention of shorter rows": (attention, (1, 19), (1, 7)),
    "attention of both": (attention, (1, 19), (3, 8)),
    "layer norm of a batch": (layer_norm, (1, 5), (4, 5)),
    "mean of a batch": (mean_alone, (1, 5), (4, 5)),
    "open size beside a batch": (open_size, (1, 5), (4, 5)),
    "positions": (embedded, (1, 19), (1, 6)),
    "positions of a batch": (embedded, (1, 19), (3, 19)),
    "class of a batch": (classified, (1, 5), (4, 5)),
    "class of longer rows": (classified, (1, 5), (1, 9)),
    "parts of longer rows": (whole_parts, (1, 5), (3, 9)),
    "rest of longer rows": (rest, (1, 5), (3, 9)),
    "masks": (masked, (1, 19), (1, 7)),
    "joined batch": (joined, (1, 5), (3, 5)),
    "repeated batch": (repeated, (1, 5), (3, 5)),
    "repeated batch of as many": (repeated, (1, 5), (5, 5)),
    "choices of a batch": (chosen, (1, 5), (3, 5)),
    "heads of a batch": (biased_heads, (1, 5), (3, 5)),
    "products of a batch": (products, (1, 5), (3, 5)),
    "products of longer rows": (products, (1, 5), (3, 9)),
    "spectra": (spectrum, (1,), (3,)),
    "recurrent layers of a batch": (recurrent, (1, 4), (3, 4)),
    "recurrent layers with time first": (time_first, (4, 1), (6, 2)),
    "steps of a batch": (steps, (1, 4), (3, 4)),
    "images": (image, (1, 8, 6), (2, 8, 6)),
    "pyramid": (pyramid, (1, 8, 6), (1, 10, 9)),
    "pyramids": (pyramid, (1, 8, 6), (2, 10, 9)),
    "volumes": (volume, (1, 4), (2, 4)),
    "longer volumes": (volume, (1, 4), (1, 6)),
    "convolution with gaps": (dilated, (1, 6), (3, 6)),
}


@pytest.mark.parametrize(("made", "sizes", "others"), CASES.values(), ids=CASES)
def test_a_model_for_other_sizes(
    made: Made, sizes: Shape, others: Shape, driver: str, tmp_path: Path
) -> None:
    """What LiteRT runs below is what is compiled, which needs one device to be seen."""
    wanted = model({"y": made(*others)})
    ((name, values),) = wanted.inputs.items()
    content = model({"y": made(*sizes)}).content
    shapes: dict[str, Any] = {"input_shapes": ((name, values.shape),), "cut_tables": True}
    options = Options(device=fitting_profiles(driver)[-1], fallback="none", **shapes)
    found = run(pipeline.build(content, options), driver, tmp_path, wanted.inputs)
    assert_litert(found, wanted)


@pytest.mark.parametrize(("made", "sizes", "others"), CASES.values(), ids=CASES)
def test_litert_runs_the_fitted_model(made: Made, sizes: Shape, others: Shape) -> None:
    wanted = model({"y": made(*others)})
    ((name, values),) = wanted.inputs.items()
    options = Options(device="cpu", input_shapes=((name, values.shape),), cut_tables=True)
    content = model({"y": made(*sizes)}).content
    fitted, _ = fitted_model(content, options, pipeline.target_of(options))
    outputs = [Reference(each).run([values]) for each in (wanted.content, fitted)]
    assert difference(outputs[1][0].reshape(-1), outputs[0][0].reshape(-1)) is None


def rows_of(count: int) -> Value:
    """Rows that a converter has joined with a batch of one, and taken apart again."""
    return reshape(reshape(x(1, count, 4), count, 4), 1, count, 4)


def pairs() -> Value:
    """The places of all elements of [1, 2, 2] in their order, without the batch of one."""
    return table((0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1))


def windows() -> Value:
    apart = reshape(x(1, 4, 4, 4), 1, 2, 2, 2, 2, 4)
    return reshape(transpose(apart, 0, 1, 3, 2, 4, 5), 4, 4, 4)


def crossed() -> Value:
    """Products of all entries with all, as of pictures with texts."""
    entries = x(1, 4)
    scores = call("BATCH_MATMUL", entries, call("RELU", entries), adj_y=True)
    return reshape(scores, 1, 1, 1)


def pooled() -> Value:
    window = {"filter_height": 3, "filter_width": 3, "stride_h": 1, "stride_w": 1}
    return reshape(call("AVERAGE_POOL_2D", x(1, 3, 3, 4), padding="VALID", **window), 1, 4)


def branch() -> Value:
    """A branch that a constant selects, which is replaced by it later."""
    bodies = [
        Body((rows,), call(name, rows))
        for name, rows in (("TANH", x(1, 3, 4)), ("RELU", x(1, 3, 4)))
    ]
    attrs = dict(zip(("then_subgraph_index", "else_subgraph_index"), bodies, strict=True))
    return Call("IF", (number(1, "bool"), rows_of(3)), attrs, shapes=((1, 3, 4),))


def scaled_sum() -> Value:
    return call("MUL", call("SUM", rows_of(3), ints(1)), number(1 / 3))


# What cannot be compiled for another shape of its input, and why.
UNCLEAR: dict[str, tuple[Value, Shape, str]] = {
    "windows": (windows(), (1, 6, 6, 4), "RESHAPE: it reshapes [1, 4, 4, 4] to [1, 2, 2, 2, 2, 4]"),
    "crossed": (crossed(), (2, 4), "BATCH_MATMUL: it computes [1, 1] for a batch of one"),
    "mixed": (
        call("SOFTMAX", transpose(reshape(x(1, 3, 4), 3, 4), 1, 0), beta=1.0),
        (2, 3, 4),
        "SOFTMAX: it combines entries along an axis in which a batch of one disappeared",
    ),
    "part of joined": (
        call("SLICE", reshape(x(1, 3, 4), 3, 4), ints(0, 0), ints(2, 4)),
        (2, 3, 4),
        "SLICE: it takes the entries from 0 to 2",
    ),
    "sum": (scaled_sum(), (1, 5, 4), "SUM: it sums up an axis, and the sum is scaled"),
    "last": (
        call("SLICE", rows_of(5), ints(0, 3, 0), ints(1, 2, 4)),
        (1, 9, 4),
        "SLICE: it takes the entries from 3 to 5",
    ),
    "chosen": (
        call("GATHER", rows_of(3), ints(2, 1, 0), axis=1),
        (1, 5, 4),
        "GATHER: it has places along an axis of another size",
    ),
    "largest": (
        typed("int32", "ARG_MAX", rows_of(3), number(1, "int32")),
        (1, 5, 4),
        "ARG_MAX: it has places along an axis of another size",
    ),
    "last one": (
        call("GATHER", rows_of(3), number(2, "int32"), axis=1),
        (1, 5, 4),
        "GATHER: it has places along an axis of another size",
    ),
    "first of a batch": (
        call("GATHER", rows_of(3), number(0, "int32"), axis=0),
        (2, 3, 4),
        "GATHER: it computes [3, 4] for a batch of one",
    ),
    "batch taken apart": (
        call("STRIDED_SLICE", rows_of(3), ints(0), ints(1), ints(1), shrink_axis_mask=1),
        (2, 3, 4),
        "STRIDED_SLICE: it computes [3, 4] for a batch of one",
    ),
    "batch among others": (
        call("CUMSUM", call("GATHER_ND", x(1, 2, 2), pairs()), number(0, "int32")),
        (2, 2, 2),
        "CUMSUM: it combines entries along an axis in which a batch of one disappeared",
    ),
    "repeated batch": (
        call("BROADCAST_TO", rows_of(3), ints(2, 3, 4)),
        (2, 3, 4),
        "BROADCAST_TO: it repeats [1, 3, 4] to [2, 3, 4]",
    ),
    "repeated": (
        call("BROADCAST_TO", reshape(x(1, 3), 1, 1, 3), ints(1, 3, 3)),
        (1, 5),
        "BROADCAST_TO: it repeats [1, 1, 3] to [1, 3, 3]",
    ),
    "other": (
        call("MATRIX_DIAG", rows_of(3)),
        (1, 5, 4),
        "MATRIX_DIAG: it is not known to do the same",
    ),
    "blocks": (
        call("SPACE_TO_BATCH_ND", rows_of(4), ints(2), table((0, 0))),
        (1, 6, 4),
        "SPACE_TO_BATCH_ND: it splits an axis",
    ),
    "tiles": (call("TILE", rows_of(3), ints(1, 2, 1)), (1, 5, 4), "TILE: it repeats an axis"),
    "branch": (branch(), (2, 3, 4), "IF: it is not known to do the same"),
    "split": (
        parts("SPLIT", 2, number(1, "int32"), rows_of(4), num_splits=2)[0],
        (1, 6, 4),
        "SPLIT: it splits an axis",
    ),
    "batch along rows": (
        call("ADD", reshape(x(1, 4), 1, 4), w(3, 3, 4)),
        (3, 4),
        "ADD: it repeats a batch of one along another axis",
    ),
    "batch along matrices": (
        call("BATCH_MATMUL", rows_of(2), w(3, 4, 5)),
        (3, 2, 4),
        "BATCH_MATMUL: it repeats a batch of one along another axis",
    ),
    "pool": (pooled(), (1, 5, 5, 4), "AVERAGE_POOL_2D: it has a window of 3x3, the whole image"),
    "too long": (embedded(1, 5), (1, 9), "ADD: it has a table of [5, 12], too few entries"),
    "not allowed": (embedded(1, 5), (1, 3), "if the first 3 entries are right, as those of"),
}


@pytest.mark.parametrize(("value", "shape", "message"), UNCLEAR.values(), ids=UNCLEAR)
def test_what_is_not_clear_is_refused(value: Value, shape: Shape, message: str) -> None:
    made = model({"y": value})
    (name,) = made.inputs
    with pytest.raises(ModelError) as caught:
        pipeline.build(made.content, Options(device="cpu", input_shapes=((name, shape),)))
    assert message in str(caught.value)


def test_what_litert_can_resize_stays_as_it_is() -> None:
    """As the size to which an image is resized."""
    content = model({"y": call("RESIZE_BILINEAR", x(1, 5, 7, 3), ints(9, 11))}).content
    options = Options(device="cpu", input_shapes=(("y/in0", (1, 8, 8, 3)),))
    assert pipeline.build(content, options).plan.outputs[0].shape == (1, 9, 11, 3)
    assert fitted_model(content, options, pipeline.target_of(options)) == (content, "")


# Shapes in the file and now, another shape of the file, and what it is now.
REGROUPED: list[tuple[Shape, Shape, Shape, Shape | None]] = [
    ((1, 64, 12), (4, 64, 12), (64, 12), (256, 12)),
    ((1, 64, 12), (4, 16, 12), (1, 64, 3, 4), (4, 16, 3, 4)),
    ((64, 1, 12), (64, 4, 12), (64, 3, 4), (64, 12, 4)),
    ((6, 4, 1), (6, 4, 5), (4, 6, 1), (4, 6, 5)),
    ((1, 9), (5, 9), (1, 1, 1, 9), (5, 1, 1, 9)),
    ((1, 14, 14, 3), (1, 28, 28, 3), (1, 196, 3), (1, 784, 3)),
    ((1, 14, 14, 3), (1, 28, 28, 3), (1, 2, 7, 2, 7, 3), None),
    ((6, 4), (12, 4), (4, 6), None),
    ((3, 1), (3, 2), (3,), None),
]


@pytest.mark.parametrize(("filed", "now", "wanted", "expected"), REGROUPED)
def test_regroup(filed: Shape, now: Shape, wanted: Shape, expected: Shape | None) -> None:
    sizes = regroup(sizes_of(filed, now), wanted)
    assert (None if sizes is None else tuple(map(by_now, sizes))) == expected
