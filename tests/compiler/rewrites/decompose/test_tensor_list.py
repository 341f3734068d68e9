"""Lists of tensors, which LiteRT leaves to TensorFlow, against the same without a list."""

from pathlib import Path

import numpy as np
import pytest
from agreement import run
from devices import Attached
from graphs import call, model, x
from graphs.operators import graph_of, number

from tflgpu.compiler import Options, UnsupportedError, pipeline
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor, constant
from tflgpu.compiler.litert.reference import Reference

LIST = "variant"


def collecting(length: int, batch: int = 2) -> Graph:
    """TANH of the first three of x's rows [3, batch, 5], which a loop puts into a list."""
    x = Tensor("x", (3, batch, 5))

    def state(prefix: str) -> list[Tensor]:
        count, rows = Tensor(f"{prefix}count", (), "int32"), Tensor(f"{prefix}x", x.shape)
        return [count, Tensor(f"{prefix}list", (), LIST), rows]

    tested, turned, result = state("tested/"), state("turned/"), state("result/")
    less = Tensor("less", (), "bool")
    condition = graph_of(Op("LESS", (tested[0], number("n", 3)), (less,)), inputs=tested)
    following, longer = Tensor("next", (), "int32"), Tensor("longer", (), LIST)
    row, value = Tensor("row", x.shape[1:]), Tensor("value", x.shape[1:])
    steps = [
        Op("ADD", (turned[0], number("one", 1)), (following,)),
        Op("GATHER", (turned[2], turned[0]), (row,), {"axis": 0}),
        Op("TANH", (row,), (value,)),
        Op("FlexTensorListSetItem", (turned[1], turned[0], value), (longer,)),
    ]
    body = graph_of(*steps, inputs=turned, outputs=[following, longer, turned[2]])
    entry = constant("entry", np.array([-1, 5], np.int32))
    reserved, y = Tensor("list", (), LIST), Tensor("y", (length, batch, 5))
    attrs = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    ops = [
        Op("FlexTensorListReserve", (entry, number("length", length)), (reserved,)),
        Op("WHILE", (number("first", 0), reserved, x), result, attrs),
        Op("FlexTensorListStack", (result[1], entry), (y,)),
    ]
    return graph_of(*ops, outputs=[y], subgraphs=(condition, body))


@pytest.mark.parametrize("length", [3, 4])
def test_entries_are_stacked_and_those_never_set_are_zero(
    length: int, attached: Attached, tmp_path: Path
) -> None:
    rows = np.random.default_rng(3).standard_normal((3, 2, 5)).astype(np.float32)
    options = Options(target=attached.target, device=attached.device, fallback="none")
    compiled = pipeline.build(write(collecting(length)), options)
    y = run(compiled, attached.device, tmp_path, {"x": rows})["y"]
    without_list = model({"y": call("TANH", x(3, 2, 5))}).content
    (expected,) = Reference(without_list).run([rows])
    np.testing.assert_allclose(y[:3], expected, rtol=1e-5)
    assert np.array_equal(y[3:], np.zeros((length - 3, 2, 5)))


def test_entries_without_elements(opencl_device: str, tmp_path: Path) -> None:
    compiled = pipeline.build(write(collecting(3, 0)), Options(device="cpu", fallback="none"))
    inputs = {"x": np.zeros((3, 0, 5), np.float32)}
    assert run(compiled, opencl_device, tmp_path, inputs)["y"].shape == (3, 0, 5)


def test_a_list_whose_entries_have_computed_places_is_refused() -> None:
    graph = collecting(3)
    place = Tensor("place", (), "int32")
    graph.inputs.append(place)
    graph.input_names.append("place")
    (loop,) = (op for op in graph.ops if op.name == "WHILE")
    graph.set_inputs(loop, (place, *loop.reads[1:]))
    with pytest.raises(UnsupportedError) as caught:
        pipeline.build(write(graph), Options(device="cpu", fallback="none"))
    reasons = {finding.operator: finding.reason for finding in caught.value.findings}
    assert reasons["WHILE"] == "the number of iterations is known only while the model runs"
    assert "FlexTensorListStack" in reasons


def test_a_list_that_grows_is_refused() -> None:
    with pytest.raises(UnsupportedError) as caught:
        pipeline.build(write(collecting(0)), Options(device="cpu", fallback="none"))
    first, *others = caught.value.findings
    assert first.operator == "FlexTensorListReserve"
    assert first.reason == "it makes a list of 0 entries"
    assert first.advice == "give the TensorArray its size instead of dynamic_size=True"
    assert others[-1].advice == "give lists of tensors a constant length"
