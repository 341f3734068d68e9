"""UNIDIRECTIONAL_SEQUENCE_LSTM of int8, with gates and a cell state of int16.

As LiteRT's lstm_eval computes it (Integer8x8_16): gates are sums of at most 16 bits, of which 12
are fractional, their activations have 15, and the scale of the cell state is a power of two.
"""

from math import frexp

import numpy as np

from ...ir import Array, Tensor, constant
from ...ops.decomposed.recurrent import (
    BIASES,
    CELL,
    CELL_STATE,
    NORMS,
    OUTPUT_STATE,
    PEEPHOLES,
    PROJECTION,
    PROJECTION_BIAS,
)
from ...ops.reduce.integer_rows import MOST_NORMALIZED
from ..decompose.decomposition import Results
from ..decompose.recurrent import Cell
from . import hybrid_recurrent
from .int16_functions import logistic, tanh
from .int16_sums import by_channel
from .lowering import INTEGERS, Lowering, lowers

GATE_STEP = 2.0**-12  # What one stands for in a gate before its activation.

LOW, HIGH = INTEGERS["int16"]


@lowers("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM")
def lstm(here: Lowering) -> Results:
    """Step by step; one product computes the inputs' contribution to the gates for all steps."""
    if here.op.attrs.get("kernel_type", "FULL") == "BASIC":
        raise here.declined("its kernel type is BASIC")
    if here.op.operand(0).dtype not in INTEGERS:
        return hybrid_recurrent.lstm(here)
    return _Cell(here).run()


class _Cell(Cell):
    """An LSTM cell of integers while its steps are lowered."""

    here: Lowering

    def __init__(self, here: Lowering) -> None:
        super().__init__(here)
        self._check()
        output, cell = self.output, self.cell
        self.output, self.cell = here.centered(output), here.centered(cell)
        mantissa, exponent = frexp(float(here.scale(cell)))
        self.cell_bits = exponent - 1
        if mantissa != 0.5 or not 0 <= 15 + self.cell_bits <= 4:
            raise here.declined("the scale of its cell state is not a power of two up to 2^-11")
        self.limit = self._limit("cell_clip", cell, HIGH)
        self.recurrent = self._weights(5)
        self.recurrent_factors = self._factors(5, output)
        self.logistic = self._table("logistic", logistic)
        self.tanh = self._table("tanh", tanh)
        self.tanh_of_cell = self._table("tanh_of_cell", lambda x: tanh(x, 15 + self.cell_bits))

    def run(self) -> Tensor:
        """LiteRT copies the integers of the output state, whatever the result's quantization."""
        state = self.op.operand(OUTPUT_STATE)
        return self.here.reinterpreted(super().run(), state, self.op.output)

    def _check(self) -> None:
        here, op = self.here, self.op
        if op.operand(0).dtype != "int8" or op.operand(CELL_STATE).dtype != "int16":
            raise here.declined("its input is not int8, or its cell state not int16")
        peepholes = any(op.input(position) is not None for position in PEEPHOLES.values())
        if peepholes and op.input(PROJECTION) is not None:
            raise here.declined("it has peepholes and a projection")
        if op.operand(CELL_STATE).shape[-1] > MOST_NORMALIZED:
            raise here.declined(f"it has more than {MOST_NORMALIZED} cells")
        used = op.intermediates if self.normalized else op.intermediates[-1:]
        if len(op.intermediates) != 5 or any(tensor.quantization is None for tensor in used):
            raise here.declined("its hidden state is not quantized, or its gates are of 8 bits")

    def _table(self, name: str, function: object) -> Tensor:
        """A function of int16, as a table of all its results."""
        assert callable(function)
        entries = function(np.arange(LOW, HIGH + 1, dtype=np.int64))
        return constant(f"{self.op.output.name}/{name}", np.asarray(entries, np.float32))

    def _limit(self, option: str, state: Tensor, most: int) -> int:
        clip = float(self.op.attrs.get(option, 0.0))
        if clip <= 0:
            return most + 1
        return min(int(np.float32(clip) / self.here.scale(state)), most) or most + 1

    def _weights(self, first: int) -> Tensor:
        """The weights of all gates, from operand `first` on."""
        arrays = [self.here.centered(self.op.operand(first + gate)) for gate in self.gates]
        parts = [array.data for array in arrays if array.data is not None]
        if len(parts) != len(arrays):
            raise self.here.declined("its weights are computed while the model runs")
        return self.here.constant(np.concatenate(parts))

    def _factors(self, first: int, source: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The factor of each gate's sums, for each of its units."""
        units = self.op.operand(CELL_STATE).shape[-1]
        scale = self.here.scale
        factors = [
            np.float32(scale(self.op.operand(first + gate)) * scale(source)) / self._step(gate)
            for gate in self.gates
        ]
        return by_channel(self.here, np.repeat(factors, units))

    def _step(self, gate: int) -> Array:
        """What one stands for in the sums of a gate."""
        if self.normalized:
            return self.here.scale(self.op.intermediates[gate])
        return np.asarray(GATE_STEP, np.float32)

    def _sums(self, rows: Tensor, source: Tensor, weights: Tensor, bias: Array | None) -> Tensor:
        """Sums of products, which are exact."""
        most = np.abs(weights.values).sum(1, dtype=np.float64) * self.here.reach(source)
        if bias is not None:
            most = most + np.abs(bias)
        self.here.require_exact(most.max(initial=0))
        added = None if bias is None else self.here.constant(bias)
        return self.here.add("FULLY_CONNECTED", rows, weights, added, exact=True)

    def projected(self, rows: Tensor) -> Tensor:
        """The inputs' contribution to all gates."""
        here, source = self.here, self.op.operand(0)
        rows.quantization = source.quantization
        bias = None
        if not self.normalized:
            bias = np.concatenate([self.op.constant(BIASES + gate) for gate in self.gates])
        sums = self._sums(here.centered(rows), source, self._weights(1), bias)
        factors = self._factors(1, source)
        zero = here.constant(0)
        name = "tflgpu.requantize_channels_rounded_twice"
        return here.rounded(name, zero, sums, *factors, bounds=(LOW, HIGH))

    def joint(self, share: Tensor) -> Tensor:
        here = self.here
        memory = self._sums(self.output, self.op.operand(OUTPUT_STATE), self.recurrent, None)
        operands = (here.constant(0), memory, *self.recurrent_factors, share)
        return here.rounded("tflgpu.requantize_channels_onto", *operands, bounds=(LOW, HIGH))

    def gate(self, gate: int, value: Tensor) -> Tensor:
        return self._looked_up(self.normal(gate, self._peeped(gate, value)), self.logistic)

    def rest(self, gate: Tensor) -> Tensor:
        return self.here.add("SUB", self.here.constant(HIGH), gate)

    def candidate(self, value: Tensor) -> Tensor:
        return self._looked_up(self.normal(CELL, value), self.tanh)

    def remembered(self, forget: Tensor, enter: Tensor, new: Tensor) -> Tensor:
        name, zero = "tflgpu.shift_product_onto", self.here.constant(0)
        kept = self.here.rounded(name, forget, self.cell, zero, bounds=(LOW, HIGH), bits=15)
        bounds, bits = (max(-self.limit, LOW), min(self.limit, HIGH)), 30 + self.cell_bits
        return self.here.rounded(name, enter, new, kept, bounds=bounds, bits=bits)

    def normal(self, gate: int, value: Tensor) -> Tensor:
        """The sums of a gate, normalized if the operator says so, in steps of GATE_STEP."""
        if not self.normalized:
            return value
        weights, bias = self.op.operand(NORMS + gate), self.op.operand(BIASES + gate)
        scale = self.here.scale(weights)
        factor = self.here.fixed_point(scale)
        return self.here.add(
            "tflgpu.normalize_integers",
            value,
            self.here.centered(weights),
            bias,
            least_variance=max(int(np.float32(10000) * scale), 1),
            multiplier=factor.multiplier,
            power=factor.exponent + 12,
            low=LOW,
            high=HIGH,
        )

    def _peeped(self, gate: int, sums: Tensor) -> Tensor:
        """The sums of a gate plus what its peephole sees of the cell state now."""
        weights = self.op.input(PEEPHOLES[gate])
        if weights is None:
            return sums
        scale = self.here.scale
        cell_scale = scale(self.op.operand(CELL_STATE))
        factor = np.float32(cell_scale * scale(weights)) / self._step(gate)
        return self.here.rounded(
            "tflgpu.requantize_product_onto",
            self.cell,
            self.here.centered(weights),
            sums,
            bounds=(LOW, HIGH),
            factor=self.here.fixed_point(factor),
        )

    def _looked_up(self, values: Tensor, table: Tensor) -> Tensor:
        return self.here.add("tflgpu.look_up", values, table, offset=-LOW)

    def hidden(self, leave: Tensor) -> Tensor:
        """The output gate times the activated cell state, as integers of the output."""
        here, op = self.here, self.op
        cell = self._looked_up(self.cell, self.tanh_of_cell)
        hidden = op.intermediates[-1]
        scale = float(np.float32(2.0**-15 / float(here.scale(hidden)) * 2.0**-15))
        least, most = INTEGERS["int8"]
        zero = here.zero(hidden)
        projection = op.input(PROJECTION)
        # LiteRT takes the zero point away where it should add it, and adds it to the sums.
        moved = -zero if projection is None else zero
        value = here.rounded(
            "tflgpu.requantize_product_rounded_twice",
            leave,
            cell,
            bounds=(least + moved, most + moved),
            factor=here.fixed_point(scale),
        )
        state = op.operand(OUTPUT_STATE)
        if projection is None:
            apart = zero - here.zero(state)
            return here.add("tflgpu.add_exact", value, here.constant(apart)) if apart else value
        return self._projected_hidden(value, hidden, projection, state)

    def _projected_hidden(
        self, value: Tensor, hidden: Tensor, projection: Tensor, state: Tensor
    ) -> Tensor:
        here = self.here
        bias = None
        if self.op.input(PROJECTION_BIAS) is not None:
            bias = self.op.constant(PROJECTION_BIAS)
        sums = self._sums(value, hidden, here.centered(projection), bias)
        product = np.float32(here.scale(projection) * here.scale(hidden))
        scale = product / here.scale(state)
        factor, zero = here.fixed_point(scale), here.zero(state)
        limit = self._limit("proj_clip", state, INTEGERS["int8"][1])
        low, high = INTEGERS["int8"]
        bounds = max(low, -limit) - zero, min(high, limit) - zero
        name = "tflgpu.requantize_rounded_twice"
        return here.rounded(name, sums, bounds=bounds, factor=factor)

    def keep(self, state: Tensor, value: Tensor) -> None:
        stored = self.here.stored(self.here.reshape(value, state.shape), state)
        super().keep(state, stored)
