"""Recurrent operators, run after run."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement import difference
from devices import Way, by_turns
from graphs.operators import file_of
from numpy.typing import NDArray

import tflgpu
from tflgpu.compiler import ModelError, Options, pipeline
from tflgpu.compiler.devices import profile
from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Op, Tensor, constant
from tflgpu.compiler.litert.reference import Reference
from tflgpu.compiler.rewrites import CANONICALIZE
from tflgpu.compiler.rewrites.pass_manager import PassManager
from tflgpu.compiler.target import Target

Array = NDArray[Any]


class Builder:
    """A model with one operator, whose operands are drawn from a fixed seed."""

    def __init__(self) -> None:
        self.begins: list[Op] = []
        self.random = np.random.default_rng(11)

    def weights(self, *shape: int) -> Tensor:
        data = self.random.standard_normal(shape).astype(np.float32) * np.float32(0.7)
        return constant(f"w{self.random.integers(1 << 30)}", data)

    def state(self, *shape: int) -> Tensor:
        return Tensor(f"state{self.random.integers(1 << 30)}", shape, variable=True)

    def given_state(self, *shape: int) -> Tensor:
        """A state that begins with a constant in half precision."""
        begin = self.random.standard_normal(shape).astype(np.float16)
        state = self.state(*shape)
        self.begins.append(Op("DEQUANTIZE", (constant(f"begin of {state.name}", begin),), (state,)))
        return state

    def model(
        self, name: str, operands: list[Tensor | None], *shapes: tuple[int, ...], **attrs: Any
    ) -> bytes:
        outputs = [Tensor(*each) for each in zip("yz", shapes, strict=False)]
        return file_of(*self.begins, Op(name, operands, outputs, attrs))


def cell(
    b: Builder,
    inputs: int,
    cells: int,
    outputs: int,
    coupled: bool,
    peepholes: bool,
    projected: bool,
) -> list[Tensor | None]:
    """Weights and biases of an LSTM."""
    gates = [not coupled, True, True, True]
    found = [b.weights(cells, inputs) if there else None for there in gates]
    found += [b.weights(cells, outputs) if there else None for there in gates]
    found += [b.weights(cells) if peepholes and there else None for there in gates[:3]]
    found += [b.weights(cells) if there else None for there in gates]
    return found + ([b.weights(outputs, cells), b.weights(outputs)] if projected else [None, None])


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
    operands: list[Tensor | None] = [Tensor("x", (*shape, inputs))]
    operands += cell(b, inputs, cells, outputs, coupled, peepholes, projected)
    operands += [b.state(batch, outputs), b.state(batch, cells)]
    if normalized:
        operands += [b.weights(cells) if there else None for there in gates]
    name = "UNIDIRECTIONAL_SEQUENCE_LSTM" if steps else "LSTM"
    options = {"fused_activation_function": "TANH", "cell_clip": 0.0, "proj_clip": 0.0, **attrs}
    return b.model(name, operands, (*shape, outputs), **options)


def rnn(steps: int = 0, given: bool = False, **attrs: Any) -> bytes:
    b = Builder()
    state = b.given_state(2, 5) if given else b.state(2, 5)
    shape = ((steps, 2) if attrs.get("time_major") else (2, steps)) if steps else (2,)
    operands = [Tensor("x", (*shape, 3)), b.weights(5, 3), b.weights(5, 5), b.weights(5), state]
    name = "UNIDIRECTIONAL_SEQUENCE_RNN" if steps else "RNN"
    return b.model(name, list(operands), (*shape, 5), fused_activation_function="TANH", **attrs)


def svdf(rank: int, memory: int, bias: bool = True, activation: str = "RELU") -> bytes:
    b = Builder()
    filters = 4 * rank
    operands = [Tensor("x", (2, 3)), b.weights(filters, 3), b.weights(filters, memory)]
    operands += [b.weights(4) if bias else None, b.state(2, filters * memory)]  # type: ignore[list-item]
    return b.model("SVDF", list(operands), (2, 4), rank=rank, fused_activation_function=activation)


def bidirectional_lstm(merged: bool, peepholes: bool = False, projected: bool = False) -> bytes:
    """Batch first and merged, or time first and apart.

    Where the batch is first and larger than one, LiteRT reads memory that it has not written.
    """
    b = Builder()
    size, batch = 7 if projected else 5, 1 if merged else 2
    operands: list[Tensor | None] = [Tensor("x", (batch, 4, 3) if merged else (4, batch, 3))]
    for _ in range(2):
        operands += cell(b, 3, 5, size, peepholes, peepholes, projected)
    for _ in range(2):
        operands += [b.state(batch, size), b.state(batch, 5)]
    options = {"fused_activation_function": "TANH", "cell_clip": 0.0, "proj_clip": 0.0}
    name = "BIDIRECTIONAL_SEQUENCE_LSTM"
    return _bidirectional(b, name, [*operands, *[None] * 9], merged, size, size, **options)


def bidirectional_rnn(merged: bool) -> bytes:
    b = Builder()
    operands: list[Tensor | None] = [Tensor("x", (2, 4, 3) if merged else (4, 2, 3))]
    for units in (5, 7):
        operands += [b.weights(units, 3), b.weights(units, units), b.weights(units)]
        operands.append(b.state(2, units))
    options = {"fused_activation_function": "TANH"}
    name = "BIDIRECTIONAL_SEQUENCE_RNN"
    return _bidirectional(b, name, [*operands, *[None] * 3], merged, 5, 7, **options)


def _bidirectional(
    b: Builder, name: str, operands: list[Tensor | None], merged: bool, *sizes: int, **attrs: Any
) -> bytes:
    assert operands[0] is not None
    shape = operands[0].shape[:2]
    shapes = [(*shape, sum(sizes))] if merged else [(*shape, size) for size in sizes]
    options = {"merge_outputs": merged, "time_major": not merged, **attrs}
    return b.model(name, operands, *shapes, **options)


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
    "rnn with a given state": lambda: rnn(given=True),
    "sequence of rnn with a given state": lambda: rnn(5, given=True),
    "sequence of rnn, time first": lambda: rnn(5, time_major=True),
    "both directions, merged": lambda: bidirectional_lstm(True),
    "both directions, apart": lambda: bidirectional_lstm(False, True, True),
    "both directions of rnn, merged": lambda: bidirectional_rnn(True),
    "both directions of rnn, apart": lambda: bidirectional_rnn(False),
    "svdf": lambda: svdf(1, 7),
    "svdf of rank 2": lambda: svdf(2, 5, activation="NONE"),
    "svdf without bias": lambda: svdf(3, 4, False),
}


@pytest.mark.parametrize("name", MODELS)
def test_an_operand_of_another_shape_is_refused(name: str) -> None:
    content, target = MODELS[name](), Target(profile("cpu"))
    for position, operand in enumerate(read(content).ops[0].inputs):
        if operand is None:
            continue
        for shape in ((), (*operand.shape, 1), (*operand.shape[:-1], operand.shape[-1] + 1)):
            graph = read(content)
            changed = graph.ops[0].operand(position)
            changed.shape = shape
            if changed.data is not None:
                changed.content = np.zeros(shape, np.float32)
            with pytest.raises(ModelError, match=r"operator [01] .*(operand|input|have|weights)"):
                PassManager(target).run(graph, CANONICALIZE)


def test_a_state_that_is_also_an_output(way: Way, tmp_path: Path) -> None:
    graph = read(rnn())
    state = graph.ops[0].operand(4)
    graph.outputs, graph.output_names = [*graph.outputs, state], ["y", "state"]
    content = write(graph)
    reference = Reference(content)
    path = pipeline.write(
        pipeline.build(content, Options(target=way.target, device=way.profile)), tmp_path
    )
    with tflgpu.load(path, device=way.device) as session:
        for value in (1.0, 2.0):
            array = np.full((2, 3), value, np.float32)
            found, expected = session.run({"x": array}), reference.run([array])
            for name, wanted in zip(("y", "state"), expected, strict=True):
                assert difference(found[name], wanted) is None


# They become operators that run in every language.
@by_turns(MODELS, 3)
def test_runs_agree_with_litert(kind: str, way: Way, tmp_path: Path) -> None:
    content = MODELS[kind]()
    reference = Reference(content)
    random = np.random.default_rng(5)
    options = Options(target=way.target, device=way.profile)
    path = pipeline.write(pipeline.build(content, options), tmp_path)
    shape = reference.inputs[0].shape
    arrays = [random.standard_normal(shape).astype(np.float32) for _ in range(3)]
    with tflgpu.load(path, device=way.device) as session:
        results = [session.run({"x": array}) for array in arrays]
        for array, result in zip(arrays, results, strict=True):
            for found, expected in zip(result.values(), reference.run([array]), strict=True):
                assert difference(found, expected) is None
        assert difference(session.run({"x": arrays[0]})["y"], results[0]["y"]) is not None
        session.reset()
        again = session.run({"x": arrays[0]})
        for name, before in results[0].items():
            np.testing.assert_array_equal(again[name], before)
