"""Normalizations in the spellings that converters and authors use for them."""

from collections.abc import Callable, Iterator

from graphs import Input, Value, call, ints, number, reshape, transpose, w, x

from tflgpu.compiler.ir import Shape

from .case import Case

Norm = Callable[[Value, tuple[int, ...], Value, Value], Value]


def mean(value: Value, axes: tuple[int, ...]) -> Value:
    return call("MEAN", value, ints(*axes), keep_dims=True)


def deviation(squares: Value, axes: tuple[int, ...]) -> Value:
    """One divided by it."""
    return call("RSQRT", call("ADD", mean(squares, axes), number(1e-3)))


def layers(image: Value, axes: tuple[int, ...], gain: Value, offset: Value) -> Value:
    """(x - m) r gain + offset, as PyTorch's converters have it."""
    centered = call("SUB", image, mean(image, axes))
    factor = deviation(call("MUL", centered, centered), axes)
    return call("ADD", call("MUL", call("MUL", centered, factor), gain), offset)


def batches(image: Value, axes: tuple[int, ...], gain: Value, offset: Value) -> Value:
    """x (r gain) + (offset - m (r gain)), as Keras has it."""
    center = mean(image, axes)
    factor = deviation(call("SQUARED_DIFFERENCE", image, center), axes)
    scale = call("MUL", factor, gain)
    shift = call("SUB", offset, call("MUL", center, scale))
    return call("ADD", call("MUL", image, scale), shift)


def negated(image: Value, axes: tuple[int, ...], gain: Value, offset: Value) -> Value:
    """The same with a negated mean, as MediaPipe's networks have it."""
    center = mean(image, axes)
    factor = deviation(call("SQUARED_DIFFERENCE", center, image), axes)
    scale = call("MUL", gain, factor)
    moved = call("MUL", call("NEG", center), scale)
    return call("ADD", call("ADD", call("MUL", image, scale), moved), offset)


def divided(image: Value, axes: tuple[int, ...], gain: Value, offset: Value) -> Value:
    """gain (x - m) / sqrt(v + e) + offset."""
    centered = call("SUB", image, mean(image, axes))
    variance = call("ADD", number(1e-3), mean(call("SQUARE", centered), axes))
    quotient = call("DIV", call("MUL", gain, centered), call("SQRT", variance))
    return call("ADD", offset, quotient)


def powered(image: Value, axes: tuple[int, ...], gain: Value, offset: Value) -> Value:
    """(x - m) (v + e)^-0.5 gain + offset."""
    centered = call("SUB", image, mean(image, axes))
    variance = call("ADD", mean(call("SQUARE", centered), axes), number(1e-3))
    factor = call("POW", variance, number(-0.5))
    return call("ADD", call("MUL", call("MUL", centered, factor), gain), offset)


def reciprocal(image: Value, axes: tuple[int, ...], gain: Value, offset: Value) -> Value:
    """(x - m) (1 / sqrt(v + e)) gain + offset."""
    center = mean(image, axes)
    squares = call("SQUARED_DIFFERENCE", image, center)
    root = call("SQRT", call("ADD", mean(squares, axes), number(1e-3)))
    factor = call("DIV", number(1), root)
    product = call("MUL", call("SUB", image, center), factor)
    return call("ADD", call("MUL", product, gain), offset)


def root_mean_square(image: Value, axes: tuple[int, ...], gain: Value, offset: Value) -> Value:
    """x r gain, without a mean to be subtracted."""
    return call("MUL", image, call("MUL", deviation(call("SQUARE", image), axes), gain))


def dropped_axes(image: Value, axes: tuple[int, ...], gain: Value, offset: Value) -> Value:
    """(x r + (0 - r m)) gain + offset, m and r without the reduced axes, as litert-torch has it."""
    assert isinstance(image, Input)
    kept = ints(*(1 if axis in axes else size for axis, size in enumerate(image.shape)))
    center = call("MEAN", image, ints(*axes))
    squares = call("SQUARED_DIFFERENCE", image, call("RESHAPE", center, kept))
    factor = call("RSQRT", call("ADD", call("MEAN", squares, ints(*axes)), number(1e-3)))
    shift = call("SUB", number(0), call("MUL", factor, center))
    scaled = call("MUL", image, call("RESHAPE", factor, kept))
    centered = call("ADD", scaled, call("RESHAPE", shift, kept))
    return call("ADD", call("MUL", centered, gain), offset)


NORMS: dict[str, Norm] = {
    "layers": layers,
    "dropped axes": dropped_axes,
    "batches": batches,
    "negated": negated,
    "divided": divided,
    "powered": powered,
    "reciprocal": reciprocal,
    "root mean square": root_mean_square,
}


def norms() -> Iterator[Case]:
    for name, norm in NORMS.items():
        yield Case("recognized", f"{name} of a row", norm(x(2, 3, 5, 19), (3,), w(19), w(19)))
    shapes: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
        "vectors": ((7, 37), (1,)),
        "an instance": ((2, 7, 11, 19), (1, 2)),
        "a picture": ((2, 5, 7, 19), (1, 2, 3)),
        "rows": ((1, 5, 7, 3), (1,)),
        "channels of many axes": ((1, 2, 3, 5, 37), (4,)),
        "rows, and an axis of one": ((1, 2, 3, 5, 37), (0, 4)),
        "several rows": ((2, 3, 5, 2, 16), (2, 3, 4)),
        "long rows": ((1, 3, 2, 5, 117), (4,)),
        "several long rows": ((1, 3, 2, 5, 48), (3, 4)),
        "groups": ((2, 3, 5, 2, 7), (1, 2, 4)),
    }
    for name, (shape, axes) in shapes.items():
        gain, offset = w(shape[-1]), w(shape[-1])
        yield Case("recognized", f"norm of {name}", batches(x(*shape), axes, gain, offset))
    value = root_mean_square(x(1, 2, 3, 5, 32), (4,), w(32), w(32))
    yield Case("recognized", "root mean square of channels of many axes", value)
    value = root_mean_square(x(2, 7, 11, 19), (1, 2), w(19), w(19))
    yield Case("recognized", "root mean square of an instance", value)
    style = call("TANH", x(2, 1, 1, 19))
    image = x(2, 7, 11, 19)
    value = call("RELU", batches(image, (1, 2), style, call("ABS", style)))
    yield Case("recognized", "norm of an instance with computed gain", call("ADD", value, image))


def grouped(norm: Norm, whole: Shape, cut: Shape, axes: Shape, gain: Shape) -> Value:
    """A norm over some axes of a shape that cuts channels into groups, then gain and offset."""
    normalized = norm(reshape(x(*whole), *cut), axes, number(1), number(0))
    return call("ADD", call("MUL", reshape(normalized, *whole), w(*gain)), w(*gain))


def grouped_whole(norm: Norm, whole: Shape, cut: Shape, axes: Shape, gain: Shape) -> Value:
    """The same, with gain and offset before channels are joined again, as Keras has it."""
    own = (1,) * (len(cut) - 2) + cut[-2:]
    return reshape(norm(reshape(x(*whole), *cut), axes, w(*own), w(*own)), *whole)


def cut_again() -> Value:
    """Groups of 8 of 32 channels, without a gain, of images that have these along two axes."""
    image = reshape(x(1, 4, 4, 2, 16), 1, 16, 32)
    values = reshape(image, 1, 16, 4, 8)
    center = mean(values, (1, 3))
    factor = deviation(call("SQUARED_DIFFERENCE", values, center), (1, 3))
    spread = [call("BROADCAST_TO", each, ints(1, 1, 4, 8)) for each in (center, factor)]
    shift, scale = (reshape(each, 1, 1, 32) for each in spread)
    return reshape(call("MUL", call("SUB", image, shift), scale), 1, 4, 4, 2, 16)


# The shape of values, what they are cut into, the axes of that, and the shape of a gain.
GROUPS: dict[str, tuple[Shape, Shape, Shape, Shape]] = {
    "4 channels": ((2, 5, 7, 64), (2, 35, 16, 4), (1, 3), (64,)),
    "4 channels of 64 pixels": ((1, 8, 8, 64), (1, 64, 16, 4), (1, 3), (64,)),
    "4 channels of 41 pixels": ((1, 1, 41, 64), (1, 41, 16, 4), (1, 3), (64,)),
    "3 channels": ((1, 5, 7, 96), (1, 5, 7, 32, 3), (1, 2, 4), (96,)),
    "5 channels": ((2, 3, 5, 80), (2, 15, 16, 5), (1, 3), (80,)),
    "32 channels": ((1, 3, 5, 96), (1, 15, 3, 32), (1, 3), (96,)),
    "11 channels": ((1, 3, 5, 176), (1, 15, 16, 11), (1, 3), (176,)),
    "all channels": ((2, 3, 5, 32), (2, 15, 1, 32), (1, 3), (32,)),
    "channels of ragged rows": ((1, 5, 7, 20), (1, 35, 5, 4), (1, 3), (20,)),
    "channels before pixels": ((2, 8, 3, 32), (2, 4, 192), (2,), (8, 1, 1)),
    "channels before ragged rows": ((1, 6, 5, 7), (1, 3, 70), (2,), (6, 1, 1)),
}


def groups() -> Iterator[Case]:
    for name, shapes in GROUPS.items():
        yield Case("recognized", f"norm of groups of {name}", grouped(layers, *shapes))
    for name in ("3 channels", "4 channels", "channels of ragged rows"):
        value = grouped_whole(batches, *GROUPS[name])
        yield Case("recognized", f"norm of groups of {name}, gain and offset within", value)
    far = call("ADD", x(1, 8, 8, 64), number(100))
    value = reshape(layers(reshape(far, 1, 64, 16, 4), (1, 3), w(16, 4), w(16, 4)), 1, 8, 8, 64)
    yield Case("recognized", "norm of groups of 4 channels far from zero", value)
    name = "root mean square of groups of 4 channels"
    yield Case("recognized", name, grouped(root_mean_square, *GROUPS["4 channels"]))
    yield Case("recognized", "norm of groups of channels that lie along two axes", cut_again())


def converted(whole: Shape, groups: int, *, gain: bool, turned: bool = True) -> Value:
    """A norm of groups of channels as PyTorch's converter has it, of images with channels last.

    The groups are those of the transposed image. If it is not `turned`, channels come first.
    """
    batch, height, width, channels = whole
    size, pixels = channels // groups, height * width
    image = transpose(x(*whole), 0, 3, 1, 2) if turned else x(batch, channels, height, width)
    values = reshape(image, batch, groups, size, pixels)
    center = mean(values, (2, 3))
    apart = call("SUB", values, center)
    factor = deviation(call("MUL", apart, apart), (2, 3))
    moved = call("MUL", center, number(-1))
    if gain:
        scale = call("MUL", factor, w(1, groups, size, 1))
        shift = call("ADD", call("MUL", moved, scale), w(1, groups, size, 1))
    else:
        cut = ints(batch, groups, size, 1)
        scale = call("BROADCAST_TO", factor, cut)
        shift = call("BROADCAST_TO", call("MUL", moved, factor), cut)
    scaled = call("MUL", image, reshape(scale, batch, channels, 1, 1))
    result = call("ADD", scaled, reshape(shift, batch, channels, 1, 1))
    return transpose(result, 0, 2, 3, 1) if turned else result


# The shape of images, and how many groups their channels are.
CONVERTED: dict[str, tuple[Shape, int]] = {
    "4 channels": ((2, 5, 7, 64), 16),
    "2 channels": ((1, 7, 9, 64), 32),
    "10 channels": ((1, 5, 6, 80), 8),
    "64 channels": ((2, 5, 7, 128), 2),
    "5 channels of ragged slices": ((2, 5, 7, 20), 4),
    "3 channels of ragged slices": ((1, 5, 7, 39), 13),
    "all channels": ((2, 5, 7, 37), 1),
    "all channels of many pixels": ((1, 48, 47, 32), 1),
    "150 channels": ((1, 24, 25, 300), 2),
    "single channels": ((1, 9, 11, 64), 64),
}


def converted_groups() -> Iterator[Case]:
    for name, (shape, count) in CONVERTED.items():
        for gain in (True, False):
            value = call("ADD", converted(shape, count, gain=gain), x(*shape))
            without = "" if gain else ", without a gain"
            yield Case("recognized", f"converted norm of groups of {name}{without}", value)
        before = converted(shape, count, gain=True, turned=False)
        yield Case("recognized", f"converted norm of groups of {name} before pixels", before)
    many = batches(call("ADD", x(1, 160, 96, 8), number(7)), (1, 2), w(8), w(8))
    yield Case("recognized", "norm of an instance of many pixels", many)
    rows = call("ADD", layers(x(1, 40, 40, 20), (1, 2, 3), w(20), w(20)), x(1, 40, 1, 20))
    yield Case("recognized", "norm of a picture of many pixels to which a row is added", rows)


def dense(rows: Value, outputs: int, inputs: int) -> Value:
    """A fully connected layer of the last axis."""
    return call("FULLY_CONNECTED", rows, w(outputs, inputs), w(outputs), keep_num_dims=True)


def normalized(norm: Norm, *shape: int) -> Value:
    """The sum of rows, as a block before computes it, normalized."""
    channels = shape[-1]
    rows = call("ADD", x(*shape), x(*shape))
    return norm(rows, (len(shape) - 1,), w(channels), w(channels))


def feed_forward(norm: Norm, *shape: int) -> Value:
    """Two layers of normalized rows, which are added to the result."""
    rows, channels = normalized(norm, *shape), shape[-1]
    inner = call("RELU", dense(rows, 43, channels))
    return call("ADD", dense(inner, channels, 43), rows)


def gated(norm: Norm, *shape: int) -> Value:
    """The product of two layers of the same normalized rows."""
    rows, channels = normalized(norm, *shape), shape[-1]
    return call("MUL", call("LOGISTIC", dense(rows, 43, channels)), dense(rows, 43, channels))


def norms_before_layers() -> Iterator[Case]:
    for name, norm in {"layer": layers, "root mean square": root_mean_square}.items():
        for shape in ((2, 19, 37), (1, 5, 7, 32), (67, 64)):
            layer = call("TANH", dense(normalized(norm, *shape), 85, shape[-1]))
            yield Case("recognized", f"{name} norm of {shape} before a layer", layer)
        for shape in ((2, 19, 37), (1, 67, 32)):
            value = feed_forward(norm, *shape)
            yield Case("recognized", f"{name} norm of {shape} that is added again", value)
        yield Case("recognized", f"{name} norm before two layers", gated(norm, 2, 19, 37))
        yield Case("recognized", f"{name} norm of one row", gated(norm, 1, 1, 37))


TABLES = (norms, groups, converted_groups, norms_before_layers)
