"""Quantized LSTMs and SVDFs, run after run, against LiteRT."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from devices import Way

import tflgpu
from tflgpu.compiler import Options, UnsupportedError, pipeline
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Quantization, Tensor
from tflgpu.compiler.litert.reference import Reference

INPUTS, CELLS, BATCH = 13, 19, 2

RANDOM = np.random.default_rng(5)


def tensor(name: str, shape: tuple[int, ...], dtype: str, scale: float, zero: int = 0) -> Tensor:
    return Tensor(name, shape, dtype, None, Quantization((float(np.float32(scale)),), (zero,)))


def filled(name: str, shape: tuple[int, ...], dtype: str, most: int, scale: float) -> Tensor:
    """A constant of drawn integers."""
    result = tensor(name, shape, dtype, scale)
    result.data = RANDOM.integers(-most, most + 1, shape).astype(dtype)
    return result


def lstm(
    steps: int = 3,
    joined: bool = False,
    projected: int = 0,
    cell_scale: float = 2.0**-11,
    peephole: bool = False,
) -> bytes:
    """A model that is an LSTM; `joined` lets the forget gate stand for the input gate, too."""
    outputs = projected or CELLS
    source = tensor("x", (BATCH, steps, INPUTS), "int8", 0.05, 7)
    operands: list[Tensor | None] = [None] * 24
    operands[0] = source
    for gate in range(4):
        if gate or not joined:
            operands[1 + gate] = filled(f"w{gate}", (CELLS, INPUTS), "int8", 127, 0.004)
            operands[5 + gate] = filled(f"r{gate}", (CELLS, outputs), "int8", 127, 0.005)
            operands[12 + gate] = filled(f"b{gate}", (CELLS,), "int32", 2000, 0.0002)
    if peephole:
        for position in (9, 10, 11)[joined:]:
            operands[position] = filled(f"p{position}", (CELLS,), "int16", 9999, 0.0001)
    if projected:
        operands[16] = filled("projection", (outputs, CELLS), "int8", 127, 0.003)
        operands[17] = filled("projection bias", (outputs,), "int32", 900, 0.00002)
    states = (
        tensor("output state", (BATCH, outputs), "int8", 0.0078, 5),
        tensor("cell state", (BATCH, CELLS), "int16", cell_scale),
    )
    for position, state in zip((18, 19), states, strict=True):
        state.variable = True
        operands[position] = state
    hidden = tensor("hidden", (1,), "int8", 0.0078, -3 if projected else 5)
    inner = [tensor(f"inner{i}", (1,), "int16", 2.0**-12) for i in range(4)]
    result = tensor("y", (BATCH, steps, outputs), "int8", 0.0078, 5)
    attrs = {"fused_activation_function": "TANH", "cell_clip": 10.0, "time_major": False}
    op = Op(
        *("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, (result,), attrs),
        intermediates=(*inner, hidden),
    )
    graph = Graph()
    graph.add(op)
    graph.inputs, graph.input_names = [source], ["x"]
    graph.outputs, graph.output_names = [result], ["y"]
    return write(graph)


def svdf(rank: int, memory: int = 7) -> bytes:
    """A model that is an SVDF of int8."""
    units, filters = CELLS, CELLS * rank
    source = tensor("x", (BATCH, INPUTS), "int8", 0.05, 7)
    state = tensor("state", (BATCH, memory * filters), "int16", 0.0003)
    state.variable = True
    operands = (
        source,
        filled("features", (filters, INPUTS), "int8", 127, 0.004),
        filled("ages", (filters, memory), "int16", 32767, 0.00003),
        filled("bias", (units,), "int32", 10**9, 0.0003 * 0.00003),
        state,
    )
    result = tensor("y", (BATCH, units), "int8", 0.1, 5)
    graph = Graph()
    graph.add(Op("SVDF", operands, (result,), {"rank": rank, "fused_activation_function": "RELU"}))
    graph.inputs, graph.input_names = [source], ["x"]
    graph.outputs, graph.output_names = [result], ["y"]
    return write(graph)


CELLS_OF_ALL_KINDS = {
    "plain": lambda: lstm(),
    "one step": lambda: lstm(steps=1),
    "joined gates": lambda: lstm(joined=True),
    "projected": lambda: lstm(projected=11),
    "features by age": lambda: svdf(rank=1),
    "features of two ranks": lambda: svdf(rank=2),
    "features of one age": lambda: svdf(rank=1, memory=1),
    "peepholes": lambda: lstm(peephole=True),
    "peepholes of joined gates": lambda: lstm(joined=True, peephole=True),
    "fine cell state": lambda: lstm(cell_scale=2.0**-15),
}


@pytest.mark.parametrize("kind", CELLS_OF_ALL_KINDS)
def test_cells_give_the_bits_of_litert(kind: str, way: Way, tmp_path: Path) -> None:
    content = CELLS_OF_ALL_KINDS[kind]()
    options = Options(target=way.target, device=way.profile, fallback="none")
    stored = pipeline.store(pipeline.build(content, options), tmp_path)
    reference = Reference(content, delegates=True)
    with tflgpu.load(stored, device=way.device, store_binaries=False) as session:
        for number in range(3):
            random = np.random.default_rng(number)
            x = random.integers(-128, 128, session.inputs[0].shape).astype(np.int8)
            (found,) = session.run(x).values()
            np.testing.assert_array_equal(found, reference.run([x])[0])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            lambda: lstm(projected=11, peephole=True),
            "it has peepholes and a projection",
        ),
        (
            lambda: lstm(cell_scale=0.0004),
            "the scale of its cell state is not a power of two up to 2^-11",
        ),
    ],
    ids=("peepholes", "scale"),
)
def test_what_is_refused(content: object, reason: str) -> None:
    assert callable(content)
    with pytest.raises(UnsupportedError) as caught:
        pipeline.build(content(), Options(device="cpu", fallback="none"))
    assert caught.value.findings[0].reason == reason
