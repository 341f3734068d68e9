"""Which tensors are stored as bytes: those whose numbers are whole and of at most 256 values."""

from __future__ import annotations

import numpy as np
import pytest

from tflgpu.compiler.devices import profile
from tflgpu.compiler.events import Event
from tflgpu.compiler.ir import Graph
from tflgpu.compiler.ir.text import Parser
from tflgpu.compiler.ops import OPS
from tflgpu.compiler.rewrites.quantized.store_bytes import store_bytes
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


def stored(text: str, device: str = "gpu", precision: str = "f32") -> tuple[Graph, list[Event]]:
    """A graph with output y after `store_bytes`."""
    parser = Parser(lambda name, shape, dtype: np.full(shape, CONTENTS[name], dtype))
    parser.read(text)
    graph = Graph()
    for op in parser.ops:
        for tensor, shape in zip(op.outputs, OPS[op.name].infer(op), strict=True):
            tensor.shape = tuple(shape)
        graph.add(op)
    graph.inputs, graph.outputs = parser.inputs, [parser.tensors["y"]]
    return graph, store_bytes(graph, Target(profile(device), precision=precision))


def bases(operators: str, device: str = "gpu", precision: str = "f32") -> dict[str, int | None]:
    """The number that a byte of 0 stands for, by the name of each tensor of a graph."""
    graph, _ = stored(SOURCES + operators, device, precision)
    return {tensor.name: tensor.byte_base for op in graph.ops for tensor in op.outputs}


@pytest.mark.parametrize(
    ("low", "high", "base"),
    [
        (-128, 127, -128),
        (-255, 0, -255),
        (-28, 227, -28),
        (-128, 128, None),
        (-3, 4, -3),
        (0, 255, 0),
        # Lanes past the last channel hold 0, whatever the limits are.
        (5, 90, 0),
        (5, 256, None),
        (-300, -200, None),
    ],
)
def test_limits_decide(low: int, high: int, base: int | None) -> None:
    assert bases(f"y = tflgpu.requantize(a, w) low={low} high={high}")["y"] == base


@pytest.mark.parametrize(
    ("operators", "base"),
    [
        ("y = RELU(a)", -128),
        ("y = ADD(a, w)", None),
        ("y = tflgpu.add_exact(a, fill)", -119),
        ("y = tflgpu.add_exact(a, a)", None),
        ("y = tflgpu.requantize_mean(x) offset=0 scale=1 shift=0 low=0.0 high=255.0 zero=3.0", -3),
        ("y = tflgpu.look_up(a, table) offset=128", 0),
        ("y = tflgpu.look_up(a, halves) offset=128", None),
        ("y = PAD(a, pads)", -128),
        ("y = PADV2(a, pads, fill)", -128),
        ("y = REDUCE_MAX(a, axes)", -128),
        ("y = SUM(a, axes)", None),
        ("y = TANH(a)", None),
        ("y = CONCATENATION(a, a) axis=3", -128),
        ("y = CONCATENATION(a, x) axis=3", None),
    ],
)
def test_operators_pass_their_ranges_on(operators: str, base: int | None) -> None:
    assert bases(operators)["y"] == base


def test_tensors_that_may_be_views_are_stored_alike() -> None:
    narrow = "b = tflgpu.requantize(x, w) low=-3 high=4"
    assert bases(f"{narrow}\ny = CONCATENATION(a, b) axis=3")["b"] == -128
    wide = "b = tflgpu.requantize(x, w) low=0 high=255"
    found = bases(f"{wide}\ny = CONCATENATION(a, b) axis=3")
    assert found["a"] is found["b"] is found["y"] is None


def test_only_where_the_profile_says_so() -> None:
    line = "y = tflgpu.requantize(a, w) low=-128 high=127"
    for name in ("gpu", "gles31", "adreno", "mali", "nvidia", "llvmpipe"):
        assert bases(line, device=name) == {"a": -128, "y": -128}
    for name in ("cpu", "cpu_avx2", "cpu_avx512"):
        assert bases(line, device=name) == {"a": None, "y": None}
    assert bases(line, precision="f16") == {"a": None, "y": None}


def test_the_text_of_a_graph_says_so() -> None:
    graph, events = stored(f"{SOURCES}y = TANH(a)")
    text = "a (bytes from -128) = tflgpu.requantize(x, w) low=-128 high=127\ny = TANH(a)"
    assert str(graph) == text
    assert [event.reason for event in events] == [None]
    parser = Parser(lambda name, shape, dtype: pytest.fail("there is no constant"))
    parser.read("input x float32[1,2]\na (bytes from -128) = ABS(x)\ny = TANH(a)\noutput y")
    assert parser.tensors["a"].byte_base == -128 and parser.tensors["y"].byte_base is None
