"""Tables of what is computed of an integer and of its entry in a table."""

from collections.abc import Sequence

import numpy as np
import pytest

from tflgpu.compiler.devices import profile
from tflgpu.compiler.events import Event
from tflgpu.compiler.ir import Array, Graph, Op, Shape
from tflgpu.compiler.ir.parse import Parser
from tflgpu.compiler.ops import OPS
from tflgpu.compiler.rewrites.fold.fold_into_table import fold_into_table
from tflgpu.compiler.target import Target

SOURCE = """
    input x float32[1,2,3,5]
    input z float32[1,2,3,5]
    constant entries float32[4]
    constant others float32[12]
    constant two float32[1,1,1,1]
    constant wide float32[2,1,1,1]
    t = tflgpu.look_up(x, entries) offset=1
    {operators}
    output y
"""
CONTENTS = {"entries": [-3, 0, 5, 7], "others": list(range(12)), "two": [2], "wide": [2, 3]}
PRODUCT = "y = tflgpu.requantize_product({}, {}) scale=0.5 low=-7 high=6"


def rewritten(operators: str) -> tuple[Graph, list[Event]]:
    """The graph after the rewrite, and what it says."""

    def content(name: str, shape: Shape, dtype: str) -> Array:
        return np.array(CONTENTS[name], dtype).reshape(shape)

    def shapes(op: Op) -> Sequence[Shape]:
        return OPS[op.name].infer(op)

    parser = Parser(content, shapes)
    parser.read(SOURCE.format(operators=operators))
    graph = parser.graph()
    return graph, fold_into_table(graph, Target(profile("gpu")))


@pytest.mark.parametrize(
    ("operators", "entries"),
    [
        # Of -1, 0, 1 and 2: 2.5 is rounded to 2, and 7 is limited to 6.
        (PRODUCT.format("x", "t"), [2, 0, 2, 6]),
        (PRODUCT.format("t", "t"), [4, 0, 6, 6]),
        (PRODUCT.format("t", "two"), [-3, 0, 5, 6]),
        ("y = tflgpu.look_up(t, others) offset=4", [1, 4, 9, 11]),
        (f"u = tflgpu.look_up(t, others) offset=4\n{PRODUCT.format('u', 'x')}", [0, 0, 4, 6]),
    ],
    ids=["product", "square", "number", "second table", "chain"],
)
def test_the_table_has_every_result(operators: str, entries: list[int]) -> None:
    graph, _ = rewritten(operators)
    (look_up,) = graph.ops
    assert (look_up.name, look_up.attrs["offset"]) == ("tflgpu.look_up", 1)
    assert look_up.operand(0).name == "x"
    assert look_up.constant(1).tolist() == entries


@pytest.mark.parametrize(
    ("operators", "reason"),
    [
        (PRODUCT.format("t", "z"), "it also reads z"),
        (PRODUCT.format("t", "wide"), "it also reads wide"),
    ],
    ids=["another tensor", "a vector"],
)
def test_it_declines(operators: str, reason: str) -> None:
    graph, events = rewritten(operators)
    assert [op.name for op in graph.ops] == ["tflgpu.look_up", "tflgpu.requantize_product"]
    assert [event.reason for event in events] == [reason]
