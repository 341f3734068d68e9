"""Recurrent operators are decomposed step by step; their states are variables."""

from collections.abc import Callable, Sequence

import numpy as np

from ...errors import Finding, UnsupportedError
from ...ir import Op, Shape, Tensor
from ...ir.tensor import dequantized
from ...ops.decomposed.recurrent import (
    BIASES,
    CELL,
    CELL_STATE,
    FORGET,
    INPUT,
    INPUT_WEIGHTS,
    NORMS,
    OUTPUT,
    OUTPUT_STATE,
    PEEPHOLES,
    PROJECTION,
    PROJECTION_BIAS,
    RECURRENT_WEIGHTS,
)
from .decomposition import Decomposition, Results, decomposes

MAX_STEPS = 1000  # Most steps of a sequence that is decomposed.

# Rows times the transposed matrices at some positions, joined along their outputs, plus a bias.
Product = Callable[[Decomposition, Tensor, Sequence[int], Tensor | None], Tensor]


def float_product(
    here: Decomposition, rows: Tensor, positions: Sequence[int], bias: Tensor | None = None
) -> Tensor:
    """A `Product` of float32."""
    matrix = here.op.operand(positions[0]) if len(positions) == 1 else joined(here, positions)
    return here.add("FULLY_CONNECTED", rows, matrix, bias)


def joined(here: Decomposition, positions: Sequence[int]) -> Tensor:
    """The constants at several positions, such as weights of gates, concatenated."""
    return here.constant(np.concatenate([here.op.constant(position) for position in positions]))


@decomposes("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM")
def lstm(here: Decomposition, product: Product = float_product) -> Results:
    """One step, or all steps of a sequence, of an LSTM of either kind."""
    basic = here.op.attrs.get("kernel_type", "FULL") == "BASIC"
    return _basic(here) if basic else Cell(here, product).run()


@decomposes("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN")
def rnn(here: Decomposition, product: Product = float_product) -> Tensor:
    """activation(weights * input + recurrent weights * state + bias), step by step."""
    op = here.op
    bias, hidden = op.operand(3), op.operand(4)

    def projected(rows: Tensor) -> Tensor:
        return product(here, rows, [1], bias)

    steps = [projected(op.operand(0))] if op.name == "RNN" else sequence_steps(here, projected)
    state, results = hidden, []
    for share in steps:
        joint = here.add("ADD", share, product(here, state, [2], None))
        state = here.activated(joint)
        results.append(state)
    keep_state(here, hidden, state)
    return results[0] if op.name == "RNN" else stacked(here, results)


@decomposes("SVDF")
def svdf(here: Decomposition, product: Product = float_product) -> Tensor:
    """Features of the most recent steps, weighted by age and summed for each unit."""
    op = here.op
    source, ages, bias, state = op.operand(0), _real(here, 2), op.input(3), op.operand(4)
    batch, (filters, memory) = source.shape[0], ages.shape
    rank = int(op.attrs.get("rank", 1))
    newest = newest_columns(here, product(here, source, [1], None), state, ages.shape)
    weighted = here.add("MUL", newest, here.reshape(ages, (1, filters, memory)))
    sums = here.reduce("SUM", weighted, keep_dims=False)
    if rank > 1:
        sums = here.reshape(sums, (batch, filters // rank, rank))
        sums = here.reduce("SUM", sums, keep_dims=False)
    if bias is not None:
        sums = here.add("ADD", sums, bias)
    keep_state(here, state, here.reshape(newest, state.shape))
    return sums


def newest_columns(here: Decomposition, features: Tensor, state: Tensor, ages: Shape) -> Tensor:
    """The state of an SVDF [batch, filters, memory] once its newest column is `features`."""
    filters, memory = ages
    newest = here.reshape(features, (-1, filters, 1))
    if memory == 1:
        return newest
    older = here.slice(here.reshape(state, (-1, filters, memory)), [0, 0, 1], [-1, -1, -1])
    return here.joined([older, newest], 2)


class Cell:
    """A full LSTM cell while its steps are decomposed; subclasses compute parts of it otherwise."""

    def __init__(self, here: Decomposition, product: Product = float_product) -> None:
        self.here, self.op, self.product = here, here.op, product
        self.gates = [
            gate for gate in range(4) if gate != INPUT or self.op.input(1 + INPUT) is not None
        ]
        self.output, self.cell = self.op.operand(OUTPUT_STATE), self.op.operand(CELL_STATE)
        self.normalized = self.op.input(NORMS + FORGET) is not None

    def run(self) -> Tensor:
        """The result of one step, or of all steps of a sequence; states stay until the next run."""
        here, op = self.here, self.op
        shares: Sequence[Tensor]
        if op.name == "LSTM":
            source = op.operand(0)
            shares = [self.projected(here.reshape(source, (-1, source.shape[-1])))]
        else:
            # One product computes the inputs' contribution to the gates for all steps.
            shares = sequence_steps(here, self.projected)
        results = [self.step(share) for share in shares]
        self.keep(op.operand(OUTPUT_STATE), self.output)
        self.keep(op.operand(CELL_STATE), self.cell)
        if op.name == "LSTM":
            return here.reshape(results[0], op.output.shape)
        return stacked(here, results)

    def projected(self, rows: Tensor) -> Tensor:
        """The inputs' contribution to all gates, with the biases unless the cell normalizes."""
        bias = None
        if not self.normalized:
            bias = joined(self.here, [BIASES + gate for gate in self.gates])
        return self.product(self.here, rows, self._of_gates(INPUT_WEIGHTS), bias)

    def _of_gates(self, first: int) -> Sequence[int]:
        return [first + gate for gate in self.gates]

    def step(self, share: Tensor) -> Tensor:
        """One step from the inputs' contribution to the gates; returns the new output state."""
        pieces = self.here.split(self.joint(share), len(self.gates), 1)
        parts = dict(zip(self.gates, pieces, strict=True))
        forget = self.gate(FORGET, parts[FORGET])
        enter = self.gate(INPUT, parts[INPUT]) if INPUT in parts else self.rest(forget)
        self.cell = self.remembered(forget, enter, self.candidate(parts[CELL]))
        self.output = self.hidden(self.gate(OUTPUT, parts[OUTPUT]))
        return self.output

    def joint(self, share: Tensor) -> Tensor:
        """The inputs' contribution to all gates and that of the output state."""
        memory = self.product(self.here, self.output, self._of_gates(RECURRENT_WEIGHTS), None)
        return self.here.add("ADD", share, memory)

    def gate(self, gate: int, value: Tensor) -> Tensor:
        """How much a gate lets through."""
        if self.op.input(PEEPHOLES[gate]) is not None:
            peephole = _real(self.here, PEEPHOLES[gate])
            value = self.here.add("ADD", value, self.here.add("MUL", self.cell, peephole))
        return self.here.add("LOGISTIC", self.normal(gate, value))

    def rest(self, gate: Tensor) -> Tensor:
        """What a gate does not let through."""
        return self.here.add("SUB", self.here.constant(1.0), gate)

    def candidate(self, value: Tensor) -> Tensor:
        """What may enter the cell."""
        return self.here.activated(self.normal(CELL, value))

    def remembered(self, forget: Tensor, enter: Tensor, new: Tensor) -> Tensor:
        """The next cell state."""
        kept = self.here.add("MUL", forget, self.cell)
        state = self.here.add("ADD", kept, self.here.add("MUL", enter, new))
        return self._clipped(state, "cell_clip")

    def hidden(self, leave: Tensor) -> Tensor:
        """The next output state."""
        output = self.here.add("MUL", leave, self.here.activated(self.cell))
        if self.op.input(PROJECTION) is None:
            return output
        bias = self.op.input(PROJECTION_BIAS)
        return self._clipped(self.product(self.here, output, [PROJECTION], bias), "proj_clip")

    def normal(self, gate: int, value: Tensor) -> Tensor:
        """Layer normalization of each row with scale and bias, if the cell has it."""
        if not self.normalized:
            return value
        here = self.here
        centred = here.add("SUB", value, here.reduce("MEAN", value))
        variance = here.reduce("MEAN", here.add("SQUARE", centred))
        factor = here.add("RSQRT", here.add("ADD", variance, here.constant(1e-8)))
        scaled = here.add("MUL", here.add("MUL", centred, factor), self.op.operand(NORMS + gate))
        return here.add("ADD", scaled, self.op.operand(BIASES + gate))

    def _clipped(self, value: Tensor, option: str) -> Tensor:
        limit = float(self.op.attrs.get(option, 0.0))
        if limit <= 0:
            return value
        below = self.here.add("MINIMUM", value, self.here.constant(limit))
        return self.here.add("MAXIMUM", below, self.here.constant(-limit))

    def keep(self, state: Tensor, value: Tensor) -> None:
        """Keep a state until the next run."""
        keep_state(self.here, state, value)


def _basic(here: Decomposition) -> Results:
    """An LSTM of kernel type BASIC, with one weight matrix for inputs and output state."""
    op = here.op
    source, output, weights, bias, cell = (op.operand(i) for i in range(5))
    rows = here.reshape(source, (-1, source.shape[-1]))
    last = here.reshape(output, (-1, output.shape[-1]))
    joint = here.add("CONCATENATION", rows, last, axis=1)
    gates = here.add("FULLY_CONNECTED", joint, weights, bias)
    enter, new, forget, leave = here.split(gates, 4, 1)
    kept = here.reshape(cell, (-1, cell.shape[-1]))
    kept = here.add("MUL", here.add("LOGISTIC", forget), kept)
    gained = here.add("MUL", here.add("LOGISTIC", enter), here.add("TANH", new))
    state = here.add("ADD", kept, gained)
    result = here.add("MUL", here.add("LOGISTIC", leave), here.add("TANH", state))
    keep_state(here, output, here.reshape(result, output.shape))
    keep_state(here, cell, here.reshape(state, cell.shape))
    results = [result, state, joint, gates][: len(op.outputs)]
    shapes = [tensor.shape for tensor in op.outputs]
    return [here.reshape(t, shape) for t, shape in zip(results, shapes, strict=True)]


def _real(here: Decomposition, position: int) -> Tensor:
    """An operand, dequantized if it is a constant of integers."""
    tensor = here.op.operand(position)
    values = dequantized(tensor)
    return tensor if values is None else here.constant(values)


def keep_state(here: Decomposition, variable: Tensor, value: Tensor) -> None:
    if variable.variable:
        here.assign(variable, value)


def sequence_steps(here: Decomposition, projected: object) -> Sequence[Tensor]:
    """The inputs' contribution to each step (UnsupportedError for too long a sequence)."""
    assert callable(projected)
    op, source = here.op, here.op.operand(0)
    if not op.attrs.get("time_major", False):
        source = here.transpose(source, (1, 0, 2))
    count, batch, width = source.shape
    if count > MAX_STEPS:
        raise UnsupportedError([_too_long(op, count)])
    shares = projected(here.reshape(source, (count * batch, width)))
    return [shares] if count == 1 else here.split(shares, count, 0)


def _too_long(op: Op, count: int) -> Finding:
    reason = f"its sequence has {count} steps; at most {MAX_STEPS} are supported"
    return op.finding(reason, "convert the model for shorter sequences")


def stacked(here: Decomposition, results: Sequence[Tensor]) -> Tensor:
    """The results of all steps, stacked along the time axis."""
    axis = 0 if here.op.attrs.get("time_major", False) else 1
    return here.add("PACK", *results, values_count=len(results), axis=axis)
