"""Which tensors are stored as integers: those of whole numbers and of at most 65536 values."""

import numpy as np
import pytest
from graphs.operators import graph_of

from tflgpu.compiler.devices import profile
from tflgpu.compiler.events import Event
from tflgpu.compiler.ir import Graph, Whole
from tflgpu.compiler.ir.parse import Parser
from tflgpu.compiler.ops import OPS
from tflgpu.compiler.rewrites.quantized.store_integers import store_integers
from tflgpu.compiler.select.legality import candidates
from tflgpu.compiler.target import Target

SOURCES = """
input x float32[1,5,7,8]
constant w float32[8]
constant table float32[256]
constant halves float32[256]
constant pads int32[4,2]
constant fill float32[]
constant axes int32[2]
a = tflgpu.requantize(x, w) low=-128 high=127
"""

CONTENTS = {
    "w": 3,
    "table": 7,
    "halves": 0.5,
    "pads": [[0, 0], [1, 1], [0, 0], [0, 0]],
    "fill": 9,
    "axes": [1, 2],
}

BYTES = Whole(8, -128)
TARGET = Target(profile("gpu"))


def stored(text: str, device: str = "gpu", precision: str = "f32") -> tuple[Graph, list[Event]]:
    """A graph whose output is its last result, after `store_integers`."""
    parser = Parser(lambda name, shape, dtype: np.full(shape, CONTENTS[name], dtype))
    parser.read(text)
    for op in parser.ops:
        for tensor, shape in zip(op.outputs, OPS[op.name].infer(op), strict=True):
            tensor.shape = tuple(shape)
    graph = graph_of(*parser.ops, inputs=parser.inputs, outputs=[parser.ops[-1].output])
    return graph, store_integers(graph, Target(profile(device), precision=precision))


def whole(operators: str, device: str = "gpu", precision: str = "f32") -> dict[str, Whole | None]:
    """How each tensor of a graph is stored of which y is an intermediate one, by its name."""
    graph, _ = stored(f"{SOURCES}{operators}\nz = TANH(y)", device, precision)
    found = {tensor.name: tensor.whole for op in graph.ops for tensor in op.outputs}
    assert found.pop("z") is None
    return found


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (-128, 127, BYTES),
        (-255, 0, Whole(8, -255)),
        (-28, 227, Whole(8, -28)),
        (-128, 128, Whole(16, -128)),
        (-3, 4, Whole(8, -3)),
        (0, 255, Whole(8, 0)),
        (-32768, 32767, Whole(16, -32768)),
        (-32768, 32768, None),
        # Lanes past the last channel hold 0, whatever the limits are.
        (5, 90, Whole(8, 0)),
        (5, 256, Whole(16, 0)),
        (-300, -200, Whole(16, -300)),
        (-65536, -65000, None),
    ],
)
def test_limits_decide(low: int, high: int, expected: Whole | None) -> None:
    assert whole(f"y = tflgpu.requantize(a, w) low={low} high={high}")["y"] == expected


@pytest.mark.parametrize(
    ("operators", "expected"),
    [
        ("y = RELU(a)", BYTES),
        ("y = ADD(a, w)", None),
        ("y = tflgpu.add_exact(a, fill)", Whole(8, -119)),
        ("y = tflgpu.add_exact(a, a)", Whole(16, -256)),
        (
            "y = tflgpu.requantize_mean(x) offset=0 scale=1 shift=0 low=0.0 high=255.0 zero=3.0",
            Whole(8, -3),
        ),
        ("y = tflgpu.look_up(a, table) offset=128", Whole(8, 0)),
        ("y = tflgpu.look_up(a, halves) offset=128", None),
        ("y = PAD(a, pads)", BYTES),
        ("y = PADV2(a, pads, fill)", BYTES),
        ("y = REDUCE_MAX(a, axes)", BYTES),
        ("y = SUM(a, axes)", None),
        ("y = TANH(a)", None),
        ("y = CONCATENATION(a, a) axis=3", BYTES),
        ("y = CONCATENATION(a, x) axis=3", None),
    ],
)
def test_operators_pass_their_ranges_on(operators: str, expected: Whole | None) -> None:
    assert whole(operators)["y"] == expected


def test_tensors_that_may_be_views_are_stored_alike() -> None:
    narrow = "b = tflgpu.requantize(x, w) low=-3 high=4"
    assert whole(f"{narrow}\ny = CONCATENATION(a, b) axis=3")["b"] == BYTES
    wide = "b = tflgpu.requantize(x, w) low=0 high=255"
    found = whole(f"{wide}\ny = CONCATENATION(a, b) axis=3")
    assert found["a"] == found["b"] == found["y"] == Whole(16, -128)


def test_outputs_of_the_model_are_floats() -> None:
    graph, _ = stored(f"{SOURCES}b = TANH(a)\ny = CONCATENATION(a, a) axis=3")
    assert {t.name: t.whole for op in graph.ops for t in op.outputs} == dict.fromkeys("aby")


def test_only_where_the_profile_says_so() -> None:
    line = "y = tflgpu.requantize(a, w) low=-128 high=127"
    for name in ("gpu", "gles31", "adreno", "mali", "nvidia", "llvmpipe"):
        assert whole(line, device=name) == {"a": BYTES, "y": BYTES}
    for name in ("cpu", "cpu_avx2", "cpu_avx512"):
        assert whole(line, device=name) == {"a": None, "y": None}
    assert whole(line, precision="f16") == {"a": BYTES, "y": BYTES}


def test_the_text_of_a_graph_says_so() -> None:
    graph, events = stored(f"{SOURCES}y = TANH(a)")
    text = "a (bytes from -128) = tflgpu.requantize(x, w) low=-128 high=127\ny = TANH(a)"
    assert str(graph) == text
    assert [event.reason for event in events] == [None]
    parser = Parser(lambda name, shape, dtype: pytest.fail("there is no constant"))
    parser.read("input x float32[1,2]\na (bytes from -128) = ABS(x)\ny = TANH(a)\noutput y")
    assert parser.tensors["a"].whole == BYTES and parser.tensors["y"].whole is None
    parser.read("b (shorts from -256) = ABS(x)\nc (signed bytes from -3) = ABS(x)")
    assert parser.tensors["b"].whole == Whole(16, -256)
    assert parser.tensors["c"].whole == Whole(8, -3, signed=True)


@pytest.mark.parametrize(
    ("dtype", "zero", "expected"),
    [("int8", -5, Whole(8, -123, signed=True)), ("uint8", 131, Whole(8, -131))],
)
def test_the_model_s_bytes_stay_as_they_are(dtype: str, zero: int, expected: Whole) -> None:
    image = f"input q {dtype}[1,5,7,8]\nc = tflgpu.to_centered(q) zero_point={zero}"
    graph, _ = stored(f"{image}\ny = TANH(c)")
    center = graph.ops[0]
    assert center.output.whole == expected and expected.row_base == -zero
    views = [found.name for found in candidates(center, TARGET).implementations if found.is_view]
    assert views == ["view_centered"]


def test_bytes_with_a_sign_are_centered_once() -> None:
    """Shorts are other bytes, and so are floats."""
    image = "input q int8[1,5,7,8]\nc = tflgpu.to_centered(q) zero_point=-5"
    wide = "b = tflgpu.requantize(x, w) low=0 high=255"
    graph, _ = stored(f"{SOURCES}{image}\n{wide}\ny = CONCATENATION(c, b) axis=3\nz = TANH(y)")
    center = next(op for op in graph.ops if op.name == "tflgpu.to_centered")
    assert center.output.whole == Whole(16, -123)
    assert not any(found.is_view for found in candidates(center, TARGET).implementations)
