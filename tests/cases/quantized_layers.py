"""Quantized layers with weights: a row for each formula that LiteRT has."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from graphs import (
    Call,
    Constant,
    Input,
    Value,
    affine,
    drawn,
    ints,
    known,
    quantized,
    typed,
    xi,
    xq,
)
from graphs.draws import WHOLE_RANGE

from tflgpu.compiler.ir import Quantization, Shape

from .case import Case
from .convolutions import window

EIGHT_BITS = (("int8", -7), ("uint8", 131))
ALL = (*EIGHT_BITS, ("int16", 0))  # Types, each with a zero point.


def weights(shape: Shape, axis: int = 0, channels: bool = True, dtype: str = "int8") -> Constant:
    """Constant weights, mostly with a scale for each channel."""
    random = np.random.default_rng(7)
    count = shape[axis] if channels else 1
    powers = random.uniform(-2, 2, count)
    scales = tuple(map(float, (0.002 * 2.0**powers).astype(np.float32)))
    quantization = Quantization(scales, (3 if dtype == "uint8" else 0,) * count, axis)
    if dtype in ("int2", "int4"):
        low, high = (-2, 2) if dtype == "int2" else (-7, 8)
        return known(random.integers(low, high, shape).astype(np.int8), quantization, dtype)
    limits = np.iinfo(dtype)
    values = random.integers(limits.min + 1, limits.max, shape, np.dtype(dtype), endpoint=True)
    return known(values, quantization)


def bias(filters: Constant, count: int, dtype: str = "int32") -> Constant:
    """A bias in the scale of the sums, of operands with a scale of 0.05."""
    assert filters.quantization is not None
    scales = tuple(float(np.float32(0.05) * np.float32(n)) for n in filters.quantization.scale)
    values = np.random.default_rng(8).integers(-5000, 5000, count).astype(dtype)
    return known(values, Quantization(scales, (0,) * len(scales)))


def row(what: str, situation: str, value: Value) -> Case:
    return Case(f"quantized {what}", situation, value, kernels="XNNPACK")


def layers() -> Iterator[Case]:
    for dtype, zero in ALL:
        kind: dict[str, Any] = {"dtype": dtype, "scale": 0.05, "zero": zero}
        result: dict[str, Any] = {
            "dtype": dtype,
            "scale": 0.4,
            "zero": -zero if dtype == "int8" else zero,
        }
        own = "uint8" if dtype == "uint8" else "int8"
        wide = "int64" if dtype == "int16" else "int32"
        channels = dtype != "uint8"
        options: dict[str, Any] = {"fused_activation_function": "RELU6"}
        options["quantized_bias_type"] = wide
        image = xq(2, 7, 5, 13, **kind)
        filters = weights((19, 3, 2, 13), channels=channels, dtype=own)
        value = quantized(
            "CONV_2D", image, filters, bias(filters, 19, wide), **result, **window(), **options
        )
        yield row("layers", f"CONV_2D {dtype}", value)
        filters = weights((1, 3, 3, 13), 3, channels, own)
        attrs: dict[str, Any] = {
            **window(),
            "depth_multiplier": 1,
            "fused_activation_function": "RELU6",
        }
        value = quantized(
            "DEPTHWISE_CONV_2D", image, filters, bias(filters, 13, wide), **result, **attrs
        )
        yield row("layers", f"DEPTHWISE_CONV_2D {dtype}", value)
        filters = weights((17, 37), channels=False, dtype=own)
        for form in dict.fromkeys((wide, "int32")):
            attrs = {"fused_activation_function": "NONE", "quantized_bias_type": form}
            rows = (xq(5, 37, **kind), filters, bias(filters, 17, form))
            value = quantized("FULLY_CONNECTED", *rows, **result, **attrs)
            yield row("layers", f"FULLY_CONNECTED {dtype} with bias {form}", value)
            filters_of = weights((19, 3, 3, 13), channels=channels, dtype=own)
            attrs |= {"padding": "SAME", "stride_h": 2, "stride_w": 2}
            operands = (ints(2, 14, 10, 19), filters_of, image, bias(filters_of, 19, form))
            value = quantized("TRANSPOSE_CONV", *operands, **result, **attrs)
            yield row("layers", f"TRANSPOSE_CONV {dtype} with bias {form}", value)
    for dtype, zero in EIGHT_BITS:
        kind = {"dtype": dtype, "scale": 0.05, "zero": zero}
        unscaled = known(np.random.default_rng(9).integers(-5000, 5000, 17).astype(np.int32))
        one: dict[str, Any] = {"channels": False, "dtype": dtype}
        result = {"dtype": dtype, "scale": 0.13, "zero": zero}
        for name, filters in {
            "CONV_2D": weights((17, 3, 3, 17), **one),
            "DEPTHWISE_CONV_2D": weights((1, 3, 3, 17), 3, **one),
            "FULLY_CONNECTED": weights((17, 17), **one),
        }.items():
            attrs = {} if name == "FULLY_CONNECTED" else window()
            image = xq(211, 17, **kind) if name == "FULLY_CONNECTED" else xq(2, 19, 23, 17, **kind)
            attrs |= {"depth_multiplier": 1} if name == "DEPTHWISE_CONV_2D" else {}
            value = quantized(name, image, filters, unscaled, **result, **attrs)
            yield row("layers", f"{name} {dtype} whose bias has no scale", value)
    filters = weights((19, 3, 3, 72))
    few = (xq(2, 3, 5, 72), filters, bias(filters, 19))
    value = quantized("CONV_2D", *few, scale=0.9, **window(), fused_activation_function="NONE")
    yield row("layers", "CONV_2D of few pixels", value)
    filters = weights((19, 3, 1, 32))
    tall = (xq(2, 37, 1, 32), filters, bias(filters, 19))
    value = quantized("CONV_2D", *tall, scale=0.9, **window(), fused_activation_function="NONE")
    yield row("layers", "CONV_2D of one column", value)
    filters = weights((19, 3, 3, 13))
    computed = typed("int32", "SHAPE", xi(2, 14, 10, 19), out_type="int32")
    image = xq(2, 7, 5, 13)
    plain = {"padding": "SAME", "stride_h": 2, "stride_w": 2}
    value = Call(
        *("TRANSPOSE_CONV", (computed, filters, image, bias(filters, 19))),
        attrs={**plain, "fused_activation_function": "NONE"},
        shapes=((2, 14, 10, 19),),
        dtype="int8",
        quantization=affine(0.2, 3),
    )
    yield row("layers", "TRANSPOSE_CONV to a computed size", value)
    yield from large_sums()
    yield from transposed()
    gaps: dict[str, Any] = {
        "padding": "SAME",
        "stride_h": 3,
        "stride_w": 3,
        "fused_activation_function": "NONE",
    }
    filters = weights((19, 2, 2, 7))
    operands = (ints(2, 15, 15, 19), filters, xq(2, 5, 5, 7), bias(filters, 19))
    value = quantized("TRANSPOSE_CONV", *operands, scale=0.2, **gaps)
    yield row("layers", "TRANSPOSE_CONV with gaps", value)
    for count, step in ((150, 1), (150, 2), (600, 1)):
        filters = weights((7, 4, 4, count))
        size, attrs = ints(1, 3 * step, 3 * step, 7), {"stride_h": step, "stride_w": step}
        operands = (size, filters, xq(1, 3, 3, count, zero=-128), bias(filters, 7))
        value = quantized("TRANSPOSE_CONV", *operands, scale=200.0, **{**gaps, **attrs})
        yield row("layers", f"TRANSPOSE_CONV of {count} channels, stride {step}", value)
    many = weights((5, 1201), channels=False)
    value = quantized(
        "FULLY_CONNECTED", xq(3, 1201, zero=-128), many, bias(many, 5), scale=2.0, zero=9
    )
    yield row("layers", "FULLY_CONNECTED of sums above 2^24", value)
    for zero in (0, 5):
        pair = (xq(2, 7, 19, zero=4), xq(2, 19, 11, zero=zero))
        value = quantized("BATCH_MATMUL", *pair, scale=0.3, adj_x=False, adj_y=False)
        yield row("layers", f"BATCH_MATMUL with second zero point {zero}", value)
    wide_pair = (xq(2, 7, 19, dtype="int16"), xq(2, 11, 19, dtype="int16"))
    value = quantized(
        "BATCH_MATMUL", *wide_pair, dtype="int16", scale=40.0, adj_x=False, adj_y=True
    )
    yield row("layers", "BATCH_MATMUL int16", value)
    kinds = (("int8", "int8", 6.0), ("int16", "int8", 10.0), ("int16", "int16", 3e3))
    for dtype, other, scale in kinds:
        for adjoint in (False, True):
            shapes = ((2, 1217, 3), (2, 5, 1217)) if adjoint else ((2, 3, 1217), (2, 1217, 5))
            pair = xq(*shapes[0], dtype=dtype), xq(*shapes[1], dtype=other)
            attrs = {"scale": scale, "adj_x": adjoint, "adj_y": adjoint}
            value = quantized("BATCH_MATMUL", *pair, dtype=dtype, **attrs)
            yield row("layers", f"BATCH_MATMUL {dtype} by {other} of long rows {adjoint}", value)
    pair = xq(2, 3, 1217, zero=-7), xq(2, 1217, 5, zero=9)
    value = quantized("BATCH_MATMUL", *pair, scale=6.0, zero=3, adj_x=False, adj_y=False)
    yield row("layers", "BATCH_MATMUL of long rows with second zero point", value)


def transposed() -> Iterator[Case]:
    """Transposed convolutions by windows and strides that share few or many pixels."""
    for padding, seen, strides, size, channels in (
        ("SAME", (2, 2), (2, 2), (6, 10), 32),
        ("SAME", (4, 4), (2, 2), (6, 10), 3),
        ("SAME", (3, 5), (2, 3), (5, 14), 17),
        ("SAME", (6, 7), (2, 3), (6, 14), 5),
        ("SAME", (1, 7), (1, 4), (3, 20), 8),
        ("VALID", (3, 3), (2, 2), (7, 11), 16),
        ("VALID", (5, 4), (3, 2), (13, 13), 21),
    ):
        filters = weights((channels, *seen, 13))
        operands = (
            *(ints(2, *size, channels), filters),
            *(xq(2, 3, 5, 13, zero=-7), bias(filters, channels)),
        )
        attrs: dict[str, Any] = {"padding": padding, "stride_h": strides[0], "stride_w": strides[1]}
        value = quantized("TRANSPOSE_CONV", *operands, scale=0.2, **attrs)
        yield row("layers", f"TRANSPOSE_CONV {padding} {seen} by {strides}", value)
        added = quantized("ADD", value, xq(2, *size, channels), scale=0.3, zero=5)
        yield row("layers", f"TRANSPOSE_CONV {padding} {seen} by {strides}, then ADD", added)
        factors = known(np.arange(-3, channels - 3, dtype=np.int8), affine(0.1))
        scaled = quantized("MUL", value, factors, scale=0.4)
        yield row("layers", f"TRANSPOSE_CONV {padding} {seen} by {strides}, then MUL", scaled)


def large_sums() -> Iterator[Case]:
    """Sums above 2^24 that LiteRT's own kernels round."""
    scales = Quantization(tuple(0.001 * 2.0**n for n in range(7)), (0,) * 7)
    random = np.random.default_rng(6)
    filters = known(random.integers(40, 127, (7, 3, 3, 601)).astype(np.int8), scales)
    added = known(np.arange(-30000, 40000, 10000, dtype=np.int32))
    image = xq(1, 5, 3, 601, zero=-128)
    shape = 1, 10, 6, 7
    around = {"padding": "SAME", "fused_activation_function": "NONE"}
    value = Call(
        *(
            "TRANSPOSE_CONV",
            (typed("int32", "SHAPE", xi(*shape), out_type="int32"), filters, image),
        ),
        attrs={**around, "stride_h": 2, "stride_w": 2},
        shapes=(shape,),
        dtype="int8",
        quantization=affine(40.0, 3),
    )
    yield row("layers", "TRANSPOSE_CONV to a computed size of sums above 2^24", value)
    value = quantized("CONV_2D", image, filters, added, scale=80.0, **{**window(), **around})
    yield row("layers", "CONV_2D of sums above 2^24 whose bias has no scale", value)


def long_rows() -> Iterator[Case]:
    """Sums above 2^24 of products with weights that the model computes."""
    for first, own, form, scale in (
        *(("int8", "int8", form, 1500.0) for form in ("", "int32")),
        *(("uint8", "uint8", form, 1500.0) for form in ("", "int32")),
        *(("int16", "int8", form, 50.0) for form in ("", "int32", "int64")),
        *(("int16", "int16", form, 1e4) for form in ("", "int64")),
    ):
        least = 0 if first in ("int16", "uint8") else -128
        rows = xq(3, 2, 701, dtype=first, scale=0.05, zero=least)
        columns = xq(5, 1402, dtype=own, scale=0.25, zero=0 if first == "int16" else least)
        sums: dict[str, Any] = {"scale": scale, "zero": 0 if first == "int16" else least + 20}
        attrs: dict[str, Any] = {"fused_activation_function": "NONE"}
        attrs |= {"quantized_bias_type": form} if form else {}
        added = bias(known(np.zeros(1), affine(0.25)), 5, form) if form else None
        value = quantized("FULLY_CONNECTED", rows, columns, added, dtype=first, **sums, **attrs)
        how = f"{first} by {own}, bias {form or 'none'}"
        yield row("computed weights", f"FULLY_CONNECTED {how}, long rows", value)


def sums_near_the_bias() -> Iterator[Case]:
    """All numbers are among the largest, so that a bias takes away nearly all of the sums."""
    for dtype, zero, least in (("int8", -128, 124), ("uint8", 0, 252)):
        like: dict[str, Any] = {"dtype": dtype, "zero": zero}
        large = known(np.array(least, dtype), affine(0.05, zero))
        rows, columns = (
            quantized("MAXIMUM", xq(count, 1402, **like), large, scale=0.05, **like)
            for count in (6, 19)
        )
        added = known(np.full(19, -89_050_000, np.int32), affine(0.0025))
        value = quantized("FULLY_CONNECTED", rows, columns, added, dtype=dtype, scale=0.08)
        yield row("computed weights", f"FULLY_CONNECTED {dtype}, sums near the bias", value)


def narrow_images() -> Iterator[Case]:
    """Convolutions of inputs of a few channels, of which some reach the very last pixel."""
    geometries = {
        "all of it": window("VALID"),
        "with edges": window("SAME", (2, 2)),
        "dilated": window("VALID", (1, 2), (2, 1)),
    }
    for dtype, zero in EIGHT_BITS:
        for channels in (1, 2, 3):
            for name, geometry in geometries.items():
                image = xq(2, 9, 19, channels, dtype=dtype, zero=zero)
                filters = weights((23, 3, 3, channels), channels=dtype == "int8", dtype=dtype)
                operands = image, filters, bias(filters, 23)
                like: dict[str, Any] = {"dtype": dtype, "zero": zero}
                value = quantized("CONV_2D", *operands, **like, scale=0.3, **geometry)
                yield row("narrow images", f"{channels} of {dtype}, {name}", value)
        single = weights((23, 1, 1, 3), channels=dtype == "int8", dtype=dtype)
        image = xq(1, 9, 19, 3, **like)
        value = quantized("CONV_2D", image, single, bias(single, 23), **like, **window())
        yield row("narrow images", f"3 of {dtype}, 1x1", value)


def computed_weights() -> Iterator[Case]:
    """Scales are powers of two, with which some sums end in a half."""
    options: dict[str, Any] = {"fused_activation_function": "NONE"}
    types = (
        *(("int8", "int8", form) for form in ("", "int32")),
        *(("uint8", "uint8", form) for form in ("", "int32")),
        *(("int16", own, form) for own in ("int8", "int16") for form in ("", "int32", "int64")),
    )
    for first, own, form in types:
        zero = 17 if own == "uint8" else 0
        steps = {("int16", "int8"): 2.0**13, ("int16", "int16"): 2.0**21}.get((first, own), 64.0)
        result: dict[str, Any] = {"dtype": first, "scale": steps, "zero": dict(ALL)[first]}
        filters = affine(0.25, zero)
        attrs = {**options, **({"quantized_bias_type": form} if form else {})}

        def added(count: int, form: str = form, filters: Quantization = filters) -> Constant | None:
            return bias(known(np.zeros(1), filters), count, form) if form else None

        def computed(*shape: int, own: str = own, zero: int = zero) -> Input:
            return xq(*shape, dtype=own, scale=0.25, zero=zero)

        def operand(*shape: int, first: str = first) -> Input:
            return xq(*shape, dtype=first, scale=0.5, zero=dict(ALL)[first])

        how = f"{first} by {own}, bias {form or 'none'}"
        value = quantized(
            "FULLY_CONNECTED", operand(101, 37), computed(53, 37), added(53), **result, **attrs
        )
        yield row("computed weights", f"FULLY_CONNECTED {how}", value)
        if own == "int16":
            constant = known(drawn("weights", (53, 37), WHOLE_RANGE, own), filters)
            value = quantized(
                "FULLY_CONNECTED", operand(31, 37), constant, added(53), **result, **attrs
            )
            yield row("computed weights", f"FULLY_CONNECTED {how}, constant", value)
            continue
        image = operand(2, 5, 7, 13)
        around = {"padding": "SAME", "stride_h": 2, "stride_w": 2}
        value = quantized(
            *("TRANSPOSE_CONV", ints(2, 10, 14, 19), computed(19, 3, 3, 13), image, added(19)),
            **{**result, **attrs, **around},
        )
        yield row("computed weights", f"TRANSPOSE_CONV {how}", value)
        if form == ("int64" if first == "int16" else "int32"):
            depthwise = (image, computed(1, 3, 3, 13), added(13))
            value = quantized(
                "DEPTHWISE_CONV_2D", *depthwise, **result, **options, **window(), depth_multiplier=1
            )
            yield row("computed weights", f"DEPTHWISE_CONV_2D {how}", value)
            value = quantized(
                *("CONV_2D", image, computed(19, 3, 2, 13), added(19)),
                **{**result, **attrs, **window()},
            )
            yield row("computed weights", f"CONV_2D {how}", value)


def factors_of_bytes() -> Iterator[Case]:
    """Of int16, by scales whose product float32 rounds by half its last bit, as LiteRT does only
    with sums of 32 bits."""
    image, scales = xq(800, 20, dtype="int16"), affine(0.01954)
    filters = known(drawn("weights", (16, 20), WHOLE_RANGE, "int8"), scales)
    computed = Input((16, 20), WHOLE_RANGE, "int8", scales)
    result: dict[str, Any] = {"dtype": "int16", "scale": 0.35}
    for form, added in (("int32", True), ("int64", True), ("int64", False)):
        with_bias = bias(filters, 16, form) if added else None
        attrs = {**result, "fused_activation_function": "NONE", "quantized_bias_type": form}
        for how, values in (("constant", filters), ("computed", computed)):
            value = quantized("FULLY_CONNECTED", image, values, with_bias, **attrs)
            name = f"FULLY_CONNECTED, {how}, bias {form if added else f'none, of {form}'}"
            yield row("factors of bytes", name, value)


def sums_of_bytes() -> Iterator[Case]:
    """Of int16, beyond what float32 holds, some also beyond 32 bits, where all have one sign."""
    levels = np.linspace(-127, 127, 19).astype(np.int8)
    single = known(np.tile(levels[:, None], 2900), affine(0.02))
    filters = known(np.tile(levels[:, None, None, None], (2, 2, 725)), affine(0.02))
    options: dict[str, Any] = {"fused_activation_function": "NONE"}
    for form in ("int32", "int64"):
        options["quantized_bias_type"] = form
        result: dict[str, Any] = {"dtype": "int16", "scale": 400.0, **options}

        def image(*shape: int) -> Value:
            return quantized("ABS", xq(*shape, dtype="int16"), dtype="int16", scale=0.05)

        operands = (image(5, 2900), single, bias(single, 19, form))
        value = quantized("FULLY_CONNECTED", *operands, **result)
        yield row("sums of bytes", f"FULLY_CONNECTED with bias {form}", value)
        operands = (image(1, 3, 3, 725), filters, bias(filters, 19, form))
        value = quantized("CONV_2D", *operands, **result, **window())
        yield row("sums of bytes", f"CONV_2D with bias {form}", value)
        added = (filters, image(1, 3, 3, 725), bias(filters, 19, form))
        around: dict[str, Any] = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
        value = quantized("TRANSPOSE_CONV", ints(1, 3, 3, 19), *added, **result, **around)
        yield row("sums of bytes", f"TRANSPOSE_CONV with bias {form}", value)


TABLES = (
    layers,
    narrow_images,
    computed_weights,
    long_rows,
    sums_near_the_bias,
    factors_of_bytes,
    sums_of_bytes,
)
