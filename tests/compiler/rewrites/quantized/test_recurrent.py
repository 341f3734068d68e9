"""Quantized LSTMs and SVDFs, run after run, against LiteRT."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement import difference
from devices import Way, by_turns
from graphs.operators import file_of

import tflgpu
from tflgpu.compiler import Options, UnsupportedError, pipeline
from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Array, Op, Quantization, Tensor, constant
from tflgpu.compiler.litert.reference import Reference

INPUTS, CELLS, BATCH = 13, 19, 2


def random(name: str) -> np.random.Generator:
    """What a tensor's content is drawn from, whichever tests run before."""
    return np.random.default_rng([5, *name.encode()])


def tensor(name: str, shape: tuple[int, ...], dtype: str, scale: float, zero: int = 0) -> Tensor:
    return Tensor(name, shape, dtype, None, Quantization((float(np.float32(scale)),), (zero,)))


def filled(name: str, shape: tuple[int, ...], dtype: str, most: int, scale: float) -> Tensor:
    """A constant of drawn integers."""
    result = tensor(name, shape, dtype, scale)
    result.content = random(name).integers(-most, most + 1, shape).astype(dtype)
    return result


def lstm(
    steps: int = 3,
    joined: bool = False,
    projected: int = 0,
    cell_scale: float = 2.0**-11,
    peephole: bool = False,
    normalized: tuple[float, float] | None = None,
    result_zero: int = 5,
) -> bytes:
    """A model that is an LSTM; `joined` lets the forget gate stand for the input gate, too.

    `normalized` is how far apart the sums of gates are, and the factors that they are given then.
    """
    outputs = projected or CELLS
    source = tensor("x", (BATCH, steps, INPUTS), "int8", 0.05, 7)
    operands: list[Tensor | None] = [None] * 24
    operands[0] = source
    for gate in range(4):
        if gate or not joined:
            operands[1 + gate] = filled(f"w{gate}", (CELLS, INPUTS), "int8", 127, 0.004)
            operands[5 + gate] = filled(f"r{gate}", (CELLS, outputs), "int8", 127, 0.005)
            operands[12 + gate] = filled(f"b{gate}", (CELLS,), "int32", 2000, 0.0002)
            if normalized:
                factor = normalized[1]
                operands[12 + gate] = filled(f"b{gate}", (CELLS,), "int32", 9000000, factor / 1000)
                operands[20 + gate] = filled(f"n{gate}", (CELLS,), "int16", 32767, factor)
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
    step = normalized[0] if normalized else 2.0**-12
    inner = [tensor(f"inner{i}", (1,), "int16", step) for i in range(4)]
    result = tensor("y", (BATCH, steps, outputs), "int8", 0.0078, result_zero)
    attrs = {"fused_activation_function": "TANH", "cell_clip": 10.0, "time_major": False}
    op = Op(
        *("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, (result,), attrs),
        intermediates=(*inner, hidden),
    )
    return file_of(op, inputs=[source])


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
    attrs = {"rank": rank, "fused_activation_function": "RELU"}
    return file_of(Op("SVDF", operands, (result,), attrs))


def real(name: str, *shape: int) -> Tensor:
    return constant(name, random(name).standard_normal(shape).astype(np.float32))


def state(name: str, *shape: int) -> Tensor:
    return Tensor(name, shape, variable=True)


def hybrid(operator: str, operands: Sequence[Tensor | None], width: int, **attrs: object) -> bytes:
    """A model that is a recurrent operator of floats with weights of int8."""
    source = operands[0]
    assert source is not None
    result = Tensor("y", (*source.shape[:-1], width))
    return file_of(Op(operator, operands, (result,), attrs))


def hybrid_lstm(joined: bool = False, outputs: int = CELLS, more: bool = False) -> bytes:
    """A sequence; with `more`, its gates see the cell state, too, and are normalized."""
    operands: list[Tensor | None] = [None] * (24 if more else 20)
    operands[0] = Tensor("x", (BATCH, 3, INPUTS))
    for gate in range(joined, 4):
        operands[1 + gate] = filled(f"w{gate}", (CELLS, INPUTS), "int8", 127, 0.004 * (gate + 1))
        operands[5 + gate] = filled(f"r{gate}", (CELLS, outputs), "int8", 127, 0.003 * (gate + 1))
        operands[12 + gate] = real(f"b{gate}", CELLS)
        if more:
            operands[20 + gate] = real(f"n{gate}", CELLS)
    if more:
        for position in (9, 10, 11)[joined:]:
            operands[position] = filled(f"p{position}", (CELLS,), "int8", 127, 0.003)
    if outputs != CELLS:
        operands[16] = filled("projection", (outputs, CELLS), "int8", 127, 0.003)
    operands[18:20] = state("output", BATCH, outputs), state("cell", BATCH, CELLS)
    attrs = {"fused_activation_function": "TANH", "cell_clip": 1.5, "time_major": False}
    return hybrid("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, outputs, **attrs)


def hybrid_rnn(asymmetric: bool, channels: bool = False) -> bytes:
    """With `channels`, each row of its weights has a scale, all of them the same."""
    weights = filled("w", (CELLS, INPUTS), "int8", 127, 0.004)
    if channels:
        weights.quantization = Quantization((0.004,) * CELLS, (0,) * CELLS)
    operands = (
        Tensor("x", (BATCH, INPUTS)),
        weights,
        filled("r", (CELLS, CELLS), "int8", 127, 0.005),
        real("b", CELLS),
        state("s", BATCH, CELLS),
    )
    attrs = {"fused_activation_function": "RELU", "asymmetric_quantize_inputs": asymmetric}
    return hybrid("RNN", operands, CELLS, **attrs)


def hybrid_svdf(asymmetric: bool) -> bytes:
    """Of two ranks."""
    operands = (
        Tensor("x", (BATCH, INPUTS)),
        filled("features", (2 * CELLS, INPUTS), "int8", 127, 0.004),
        filled("ages", (2 * CELLS, 7), "int8", 127, 0.01),
        real("b", CELLS),
        state("s", BATCH, 14 * CELLS),
    )
    attrs = {"fused_activation_function": "RELU", "asymmetric_quantize_inputs": asymmetric}
    return hybrid("SVDF", operands, CELLS, rank=2, **attrs)


NORMAL = (0.0003, 0.00003)

CELLS_OF_ALL_KINDS = {
    "plain": lambda: lstm(),
    "one step": lambda: lstm(steps=1),
    "joined gates": lambda: lstm(joined=True),
    "projected": lambda: lstm(projected=11),
    "features by age": lambda: svdf(rank=1),
    "features of two ranks": lambda: svdf(rank=2),
    "features of one age": lambda: svdf(rank=1, memory=1),
    "features of many ranks": lambda: svdf(rank=173, memory=3),
    "peepholes": lambda: lstm(peephole=True),
    "peepholes of joined gates": lambda: lstm(joined=True, peephole=True),
    "result of another zero point than the state": lambda: lstm(result_zero=-60),
    "normalized": lambda: lstm(normalized=NORMAL),
    "normalized, with joined gates and a projection": lambda: lstm(
        normalized=NORMAL, joined=True, projected=11
    ),
    "normalized, of almost equal sums": lambda: lstm(normalized=(8.0, 0.0003)),
    "normalized, with peepholes": lambda: lstm(normalized=NORMAL, peephole=True),
    "fine cell state": lambda: lstm(cell_scale=2.0**-15),
}

CELLS_OF_FLOATS = {
    "LSTM": lambda: hybrid_lstm(),
    "LSTM of joined gates, projected": lambda: hybrid_lstm(joined=True, outputs=11),
    "LSTM with peepholes, normalized": lambda: hybrid_lstm(more=True),
    "RNN": lambda: hybrid_rnn(asymmetric=False),
    "RNN with zero points": lambda: hybrid_rnn(asymmetric=True),
    "SVDF": lambda: hybrid_svdf(asymmetric=False),
    "SVDF with zero points": lambda: hybrid_svdf(asymmetric=True),
}


def three_runs(
    content: bytes, way: Way, folder: Path, draw: Callable[[int, tuple[int, ...]], Array]
) -> Iterator[tuple[Array, Array]]:
    """What the device and LiteRT compute in runs that follow each other, on inputs by number."""
    options = Options(target=way.target, device=way.profile, fallback="none")
    stored = pipeline.write(pipeline.build(content, options), folder)
    reference = Reference(content, kernels="XNNPACK")
    with tflgpu.load(stored, device=way.device, store_binaries=False) as session:
        for number in range(3):
            x = draw(number, session.inputs[0].shape)
            (found,) = session.run(x).values()
            yield found, reference.run([x])[0]


@by_turns(CELLS_OF_ALL_KINDS)
def test_cells_give_the_bits_of_litert(kind: str, way: Way, tmp_path: Path) -> None:
    def draw(number: int, shape: tuple[int, ...]) -> Array:
        return np.random.default_rng(number).integers(-128, 128, shape).astype(np.int8)

    for found, expected in three_runs(CELLS_OF_ALL_KINDS[kind](), way, tmp_path, draw):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", ["plain", "projected", "normalized", "peepholes of joined gates"])
def test_cells_take_four_buffers_at_most(kind: str) -> None:
    options = Options(target="glsl", device="gles31", fallback="none")
    plan = pipeline.build(CELLS_OF_ALL_KINDS[kind](), options).plan
    assert max(kernel.parameters for kernel in plan.kernels) <= 4


@by_turns(CELLS_OF_FLOATS)
def test_cells_of_floats_quantize_their_rows_as_litert_does(
    kind: str, way: Way, tmp_path: Path
) -> None:
    """Zeros come first, which have no scale."""

    def draw(number: int, shape: tuple[int, ...]) -> Array:
        drawn = np.random.default_rng(number).standard_normal(shape)
        return drawn.astype(np.float32) * number

    for found, expected in three_runs(CELLS_OF_FLOATS[kind](), way, tmp_path, draw):
        assert difference(found, expected, 1e-6) is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (lambda: lstm(projected=11, peephole=True), "it has peepholes and a projection"),
        (
            lambda: lstm(cell_scale=0.0004),
            "the scale of its cell state is not a power of two up to 2^-11",
        ),
        (
            lambda: hybrid(
                "SVDF",
                (
                    Tensor("x", (BATCH, INPUTS)),
                    filled("features", (CELLS, INPUTS), "int8", 127, 0.004),
                    real("ages", CELLS, 7),
                    None,
                    state("s", BATCH, 7 * CELLS),
                ),
                CELLS,
                rank=1,
            ),
            "its time weights are floats, whose bytes LiteRT takes for int8",
        ),
        (
            lambda: hybrid_rnn(asymmetric=False, channels=True),
            "tensor w has a scale for each channel, which LiteRT takes for 0",
        ),
    ],
    ids=("peepholes", "scale", "ages", "channels"),
)
def test_what_is_refused(content: object, reason: str) -> None:
    assert callable(content)
    with pytest.raises(UnsupportedError) as caught:
        pipeline.build(content(), Options(device="cpu", fallback="none"))
    assert caught.value.findings[0].reason == reason


@pytest.mark.parametrize("options", [{}, {"fallback_ops": ("SVDF",)}], ids=["default", "named"])
def test_what_litert_accesses_other_memory_for_does_not_fall_back(options: dict[str, Any]) -> None:
    graph = read(svdf(rank=1))
    ages = graph.ops[0].operand(2)
    assert ages.data is not None
    ages.content, ages.dtype = ages.data.astype(np.int8), "int8"
    with pytest.raises(UnsupportedError, match=r"operator 0 SVDF: .* accesses memory beyond them"):
        pipeline.build(write(graph), Options(device="cpu", **options))
