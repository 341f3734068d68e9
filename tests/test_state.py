"""What a model keeps between runs: recurrent operators and variables, run after run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Attached, Way
from numpy.typing import NDArray
from tolerances import difference

import tflgpu
from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor, constant
from tflgpu.compiler.litert.reference import Reference

Array = NDArray[Any]


class Builder:
    """A model with one operator, whose operands are drawn from a fixed seed."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.random = np.random.default_rng(11)

    def input(self, *shape: int) -> Tensor:
        tensor = Tensor("x", shape)
        self.graph.inputs.append(tensor)
        self.graph.input_names.append("x")
        return tensor

    def weights(self, *shape: int) -> Tensor:
        data = self.random.standard_normal(shape).astype(np.float32) * np.float32(0.7)
        return constant(f"w{len(self.graph.tensors)}{self.random.integers(1 << 30)}", data)

    def state(self, *shape: int) -> Tensor:
        return Tensor(f"state{self.random.integers(1 << 30)}", shape, variable=True)

    def model(
        self, name: str, operands: list[Tensor | None], shape: tuple[int, ...], **attrs: Any
    ) -> bytes:
        output = Tensor("y", shape)
        self.graph.add(Op(name, tuple(operands), (output,), attrs))
        self.graph.outputs = [output]
        self.graph.output_names = ["y"]
        return write(self.graph)


def lstm(
    steps: int = 0,
    batch: int = 2,
    inputs: int = 3,
    cells: int = 5,
    outputs: int = 5,
    coupled: bool = False,
    peepholes: bool = False,
    projected: bool = False,
    normalized: bool = False,
    **attrs: Any,
) -> bytes:
    """A full LSTM; of one step if `steps` is 0, else of a sequence, time or batch first."""
    b = Builder()
    major = attrs.get("time_major", False)
    shape = ((steps, batch) if major else (batch, steps)) if steps else (batch,)
    gates = [not coupled, True, True, True]
    operands: list[Tensor | None] = [b.input(*shape, inputs)]
    operands += [b.weights(cells, inputs) if there else None for there in gates]
    operands += [b.weights(cells, outputs) if there else None for there in gates]
    for there in (not coupled, True, True):
        operands.append(b.weights(cells) if peepholes and there else None)
    operands += [b.weights(cells) if there else None for there in gates]
    operands += [b.weights(outputs, cells), b.weights(outputs)] if projected else [None, None]
    operands += [b.state(batch, outputs), b.state(batch, cells)]
    if normalized:
        operands += [b.weights(cells) if there else None for there in gates]
    name = "UNIDIRECTIONAL_SEQUENCE_LSTM" if steps else "LSTM"
    options = {"fused_activation_function": "TANH", "cell_clip": 0.0, "proj_clip": 0.0, **attrs}
    return b.model(name, operands, (*shape, outputs), **options)


def rnn(steps: int = 0, **attrs: Any) -> bytes:
    b = Builder()
    shape = ((steps, 2) if attrs.get("time_major") else (2, steps)) if steps else (2,)
    operands = [b.input(*shape, 3), b.weights(5, 3), b.weights(5, 5), b.weights(5), b.state(2, 5)]
    name = "UNIDIRECTIONAL_SEQUENCE_RNN" if steps else "RNN"
    return b.model(name, list(operands), (*shape, 5), fused_activation_function="TANH", **attrs)


def svdf(rank: int, memory: int, bias: bool = True, activation: str = "RELU") -> bytes:
    b = Builder()
    filters = 4 * rank
    operands = [b.input(2, 3), b.weights(filters, 3), b.weights(filters, memory)]
    operands += [b.weights(4) if bias else None, b.state(2, filters * memory)]  # type: ignore[list-item]
    return b.model("SVDF", list(operands), (2, 4), rank=rank, fused_activation_function=activation)


MODELS: Mapping[str, Callable[[], bytes]] = {
    "lstm": lstm,
    "lstm of many cells": lambda: lstm(batch=3, inputs=17, cells=37, outputs=37),
    "coupled gates": lambda: lstm(coupled=True),
    "peepholes": lambda: lstm(peepholes=True),
    "coupled gates, peepholes": lambda: lstm(coupled=True, peepholes=True),
    "projection": lambda: lstm(projected=True, outputs=7),
    "clipped": lambda: lstm(projected=True, outputs=7, cell_clip=0.3, proj_clip=0.2),
    "normalized": lambda: lstm(normalized=True, peepholes=True, projected=True, outputs=2),
    "sequence": lambda: lstm(7),
    "sequence, time first": lambda: lstm(7, time_major=True),
    "sequence of one": lambda: lstm(1, projected=True, outputs=7),
    "coupled sequence": lambda: lstm(5, coupled=True, peepholes=True),
    "rnn": rnn,
    "sequence of rnn": lambda: rnn(5),
    "sequence of rnn, time first": lambda: rnn(5, time_major=True),
    "svdf": lambda: svdf(1, 7),
    "svdf of rank 2": lambda: svdf(2, 5, activation="NONE"),
    "svdf without bias": lambda: svdf(3, 4, False),
}


@pytest.mark.parametrize("name", MODELS)
def test_runs_agree_with_litert(name: str, way: Way, tmp_path: Path) -> None:
    content = MODELS[name]()
    reference = Reference(content)
    random = np.random.default_rng(5)
    options = Options(target=way.target, device=way.profile)
    path = pipeline.store(pipeline.build(content, options), tmp_path)
    shape = reference.inputs[0].shape
    arrays = [random.standard_normal(shape).astype(np.float32) for _ in range(3)]
    with tflgpu.load(path, device=way.device) as session:
        results = [session.run({"x": array})["y"] for array in arrays]
        for array, result in zip(arrays, results, strict=True):
            assert difference(result, reference.run([array])[0]) is None
        assert difference(session.run({"x": arrays[0]})["y"], results[0]) is not None
        session.reset()
        np.testing.assert_array_equal(session.run({"x": arrays[0]})["y"], results[0])


def running_total() -> bytes:
    """A resource variable that starts at 0.5 and adds up what the model is given."""
    handles = [Tensor(f"handle{i}", (), "resource") for i in range(2)]
    names = {"container": "", "shared_name": "total"}
    once, graph = Graph(), Graph()
    once.add(Op("VAR_HANDLE", (), (handles[0],), dict(names)))
    start = constant("start", np.full((2, 3), 0.5, np.float32))
    once.add(Op("ASSIGN_VARIABLE", (handles[0], start), (), {}, 1))
    graph.subgraphs = {1: once}
    x, before, y = (Tensor(name, (2, 3)) for name in ("x", "before", "y"))
    graph.inputs, graph.outputs = [x], [y]
    graph.input_names, graph.output_names = ["x"], ["y"]
    graph.add(Op("CALL_ONCE", (), (), {"init_subgraph_index": 1}))
    graph.add(Op("VAR_HANDLE", (), (handles[1],), dict(names), 1))
    graph.add(Op("READ_VARIABLE", (handles[1],), (before,), {}, 2))
    graph.add(Op("ADD", (before, x), (y,), {}, 3))
    graph.add(Op("ASSIGN_VARIABLE", (handles[1], y), (), {}, 4))
    return write(graph)


def test_a_resource_variable_lasts_until_reset(attached: Attached, tmp_path: Path) -> None:
    model = running_total()
    reference = Reference(model)
    folder = tflgpu.compile(model, tmp_path, target=attached.target, device=attached.device)
    with tflgpu.load(folder, device=attached.device) as session:
        for step in range(1, 4):
            x = np.full((2, 3), step, np.float32)
            np.testing.assert_array_equal(session.run({"x": x})["y"], reference.run([x])[0])
        session.reset()
        np.testing.assert_array_equal(session.run({"x": x})["y"], x + np.float32(0.5))


def exchanged() -> bytes:
    """Two variables that hold 1 and 2 at first, and swap; one as it was read is an output."""
    once, graph = Graph(), Graph()
    for part, offset in ((once, 0), (graph, 1)):
        for i, name in enumerate(("first", "second")):
            handle = Tensor(f"{name}/handle{offset}", (), "resource")
            part.add(Op("VAR_HANDLE", (), (handle,), {"container": "", "shared_name": name}, i))
            if part is once:
                start = constant(f"{name}/start", np.full((2, 3), 1.0 + i, np.float32))
                part.add(Op("ASSIGN_VARIABLE", (handle, start), (), {}, 2 + i))
    graph.subgraphs = {1: once}
    graph.add(Op("CALL_ONCE", (), (), {"init_subgraph_index": 1}, 2))
    handles = [op.output for op in graph.ops if op.name == "VAR_HANDLE"]
    x, y, *read = (Tensor(name, (2, 3)) for name in ("x", "y", "read0", "read1"))
    one = constant("one", np.array(1, np.float32))
    for i, tensor in enumerate(read):
        graph.add(Op("READ_VARIABLE", (handles[i],), (tensor,), {}, 3 + i))
        same = Tensor(f"same{i}", (2, 3))
        graph.add(Op("MUL", (tensor, one), (same,), {}, 5 + i))
        graph.add(Op("ASSIGN_VARIABLE", (handles[1 - i], same), (), {}, 7 + i))
    graph.add(Op("SUB", (read[1], x), (y,), {}, 9))
    graph.inputs, graph.outputs = [x], [y, read[0]]
    graph.input_names, graph.output_names = ["x"], ["y", "read0"]
    return write(graph)


def test_variables_swap_what_they_held(attached: Attached, tmp_path: Path) -> None:
    model = exchanged()
    reference = Reference(model)
    folder = tflgpu.compile(model, tmp_path, target=attached.target, device=attached.device)
    x = np.full((2, 3), 0.25, np.float32)
    with tflgpu.load(folder, device=attached.device) as session:
        for _ in range(3):
            found, expected = session.run({"x": x}), reference.run([x])
            np.testing.assert_array_equal(found["y"], expected[0])
            np.testing.assert_array_equal(found["read0"], expected[1])
