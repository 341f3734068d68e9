"""Types: casts, quantized constants, bits."""

from collections.abc import Iterator

import numpy as np
from graphs import Call, Input, Value, call, ints, known, typed, w, x, xi

from tflgpu.compiler.ir import Quantization

from .case import Case
from .convolutions import window
from .special_values import computed


def casts() -> Iterator[Case]:
    kinds = ("float32", "int32", "int64", "bool", "int8", "uint8", "int16")
    for source in kinds:
        for target in kinds:
            operand = x(3, 5, 7) if source == "float32" else xi(3, 5, 7, dtype=source)
            attrs = {"in_data_type": source, "out_data_type": target}
            yield Case("CAST", f"{source} to {target}", typed(target, "CAST", operand, **attrs))
    edges = computed(np.nan, np.inf, -np.inf, 2147483520, 2147483648, -2147483648, -3e9, -1.5)
    for target in ("int8", "uint8", "int16", "int32"):
        attrs = {"in_data_type": "int32", "out_data_type": target}
        value = typed(target, "CAST", xi(5, 7, draw="large"), **attrs)
        yield Case("CAST", f"large int32 to {target}", value)
        value = typed(target, "CAST", edges, **{**attrs, "in_data_type": "float32"})
        yield Case("CAST", f"special float32 to {target}", value)
    attrs = {"in_data_type": "int32", "out_data_type": "float32"}
    yield Case("CAST", "fused", call("MUL", call("CAST", xi(5, 7), **attrs), w(7)))
    # Below and above the range of float16, too.
    sizes = known(np.array([3e-8, 1e-6, 4e-5, 1, 33, 3e4, 9e4], np.float32))
    halved: dict[str, Value] = {
        "float32": call("MUL", x(41, 7), sizes),
        "special float32": x(5, 7, draw="special"),
        "int32": xi(5, 7, draw="large"),
    }
    for name, given in halved.items():
        for half in ("float16", "bfloat16"):
            back = through_half(given, name.split()[-1], half)
            yield Case("CAST", f"{name} to {half} and back", back)
    constant = through_half(known(np.linspace(-1, 1, 7, dtype=np.float32)), "float32", "bfloat16")
    yield Case("CAST", "constant to bfloat16 and back", call("MUL", x(3, 7), constant))


def through_half(value: Value, dtype: str, half: str) -> Value:
    """Rounded to 16 bits."""
    attrs = {"in_data_type": dtype, "out_data_type": half}
    rounded = typed(half, "CAST", value, **attrs)
    return call("CAST", rounded, in_data_type=half, out_data_type="float32")


def dequantizations() -> Iterator[Case]:
    random = np.random.default_rng(17)
    half = known(random.standard_normal((7, 3, 3, 5)).astype(np.float16))
    weights = Call("DEQUANTIZE", (half,))
    value = call("CONV_2D", x(2, 5, 7, 5), weights, w(7), **window())
    yield Case("DEQUANTIZE", "float16 weights", value)
    halves = typed("float32", "DEQUANTIZE", Input((2, 5, 7), dtype="float16"))
    yield Case("DEQUANTIZE", "float16 inputs", call("MUL", halves, w(7)))
    for dtype, zero in (("int8", -3), ("uint8", 128), ("int16", 0)):
        info = np.iinfo(dtype)
        whole = random.integers(info.min, info.max, (5, 7)).astype(dtype)
        constant = known(whole, Quantization((0.037,), (zero,)))
        scaled = Call("DEQUANTIZE", (constant,))
        yield Case("DEQUANTIZE", f"{dtype}", call("MUL", x(2, 5, 7), scaled))
    rows = Quantization((0.5, 0.25, 0.125, 0.75, 1.5), (0,) * 5, 0)
    whole = random.integers(-127, 127, (5, 7)).astype(np.int8)
    scaled = Call("DEQUANTIZE", (known(whole, rows),))
    yield Case("DEQUANTIZE", "a scale for each row", call("ADD", x(5, 7), scaled))
    scaled = Call("DEQUANTIZE", (known(whole),))
    yield Case("DEQUANTIZE", "integers without a scale", call("ADD", x(5, 7), scaled))
    counts = Call("CAST", (ints(3, -5, 7),), {"in_data_type": "int32", "out_data_type": "float32"})
    yield Case("CAST", "of a constant", call("MUL", x(5, 3), counts))


def bits() -> Iterator[Case]:
    yield Case("BITWISE_XOR", "int32", typed("int32", "BITWISE_XOR", xi(3, 5), xi(5)))
    shifted = typed("int32", "RIGHT_SHIFT", xi(3, 5), xi(3, 5, draw="counts"))
    yield Case("RIGHT_SHIFT", "int32", shifted)
    beyond = known(np.array([[-40, -1, 31, 32, 1000]] * 3, np.int32))
    shifted = typed("int32", "RIGHT_SHIFT", xi(3, 5, draw="large"), beyond)
    yield Case("RIGHT_SHIFT", "by more bits than there are, and fewer than none", shifted)
    yield Case("BITCAST", "to integers", typed("int32", "BITCAST", x(3, 5)))
    yield Case("BITCAST", "to floats", call("BITCAST", xi(3, 5, draw="large")))


TABLES = (casts, dequantizations, bits)
