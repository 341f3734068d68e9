"""Recurrent operators, whose states are zero before the first run."""

from graphs import Call, Part, State, Value, call, w, x
from hypothesis.strategies import DrawFn

from tflgpu.compiler.ir import Shape

from .draws import Generator, flag, number, one_in, pick


def _sizes(draw: DrawFn) -> tuple[int, int, int]:
    """Batch, inputs and cells."""
    return number(draw, 1, 3), number(draw, 1, 7), pick(draw, (1, 2, 3, 5, 8, 13))


def _rows(draw: DrawFn, batch: int, sequence: bool) -> tuple[Shape, dict[str, bool]]:
    """Leading axes of the input, and for a sequence whether time comes first."""
    if not sequence:
        return (batch,), {}
    steps, major = number(draw, 1, 4), flag(draw)
    return (steps, batch) if major else (batch, steps), {"time_major": major}


def _lstm(operator: str) -> Generator:
    def generate(draw: DrawFn) -> Call:
        batch, inputs, cells = _sizes(draw)
        rows, attrs = _rows(draw, batch, operator != "LSTM")
        gates = [not one_in(draw, 4), True, True, True]
        peepholes, projected = one_in(draw, 3), one_in(draw, 3)
        outputs = number(draw, 1, 7) if projected else cells
        operands: list[Value | None] = [x(*rows, inputs)]
        operands += [w(cells, inputs) if there else None for there in gates]
        operands += [w(cells, outputs) if there else None for there in gates]
        peeping = (gates[0], True, True)
        operands += [w(cells) if peepholes and there else None for there in peeping]
        operands += [w(cells) if there else None for there in gates]
        operands += [w(outputs, cells), w(outputs)] if projected else [None, None]
        operands += [State((batch, outputs)), State((batch, cells))]
        if one_in(draw, 4):
            operands += [w(cells) if there else None for there in gates]
        clips = {f"{name}_clip": pick(draw, (0.0, 0.0, 0.3)) for name in ("cell", "proj")}
        options = {"fused_activation_function": "TANH", **clips, **attrs}
        return Call(operator, tuple(operands), options)

    return generate


def _rnn(operator: str) -> Generator:
    def generate(draw: DrawFn) -> Call:
        batch, inputs, cells = _sizes(draw)
        rows, attrs = _rows(draw, batch, operator != "RNN")
        state = State((batch, cells))
        operands = x(*rows, inputs), w(cells, inputs), w(cells, cells), w(cells), state
        activation = pick(draw, ("TANH", "RELU", "NONE"))
        return call(operator, *operands, fused_activation_function=activation, **attrs)

    return generate


def svdf(draw: DrawFn) -> Call:
    batch, inputs, units = _sizes(draw)
    rank, memory = number(draw, 1, 3), number(draw, 1, 7)
    bias = w(units) if flag(draw) else None
    filters = units * rank
    operands = x(batch, inputs), w(filters, inputs), w(filters, memory), bias
    activation = pick(draw, ("NONE", "RELU"))
    state = State((batch, filters * memory))
    return call("SVDF", *operands, state, rank=rank, fused_activation_function=activation)


def both_directions(draw: DrawFn) -> list[Value]:
    """Layers whose weights may differ in size from one direction to the other."""
    batch, inputs, _ = _sizes(draw)
    rows, attrs = _rows(draw, batch, True)
    operands: list[Value | None] = [x(*rows, inputs)]
    for _ in range(2):
        units = number(draw, 1, 7)
        operands += [w(units, inputs), w(units, units), w(units), State((batch, units))]
    merged = flag(draw)
    options = {"fused_activation_function": "TANH", "merge_outputs": merged, **attrs}
    operands += [None, None, None]
    name = "BIDIRECTIONAL_SEQUENCE_RNN"
    whole = Call(name, tuple(operands), options, outputs=2 - merged)
    return [Part(whole, position) for position in range(2 - merged)]


def lstm_in_both_directions(draw: DrawFn) -> list[Value]:
    """Where the batch is first and larger than one, LiteRT reads memory that it has not written."""
    batch, inputs, cells = _sizes(draw)
    rows, attrs = _rows(draw, batch, True)
    if not attrs["time_major"]:
        rows, batch = (1, rows[1]), 1
    operands: list[Value | None] = [x(*rows, inputs)]
    peepholes = one_in(draw, 3)
    for _ in range(2):
        operands += [w(cells, inputs) for _ in range(4)] + [w(cells, cells) for _ in range(4)]
        operands += [w(cells) if peepholes else None for _ in range(3)]
        operands += [*(w(cells) for _ in range(4)), None, None]
    operands += [State((batch, cells)) for _ in range(4)] + [None] * 9
    merged = flag(draw)
    options = {"fused_activation_function": "TANH", "merge_outputs": merged, **attrs}
    options |= {"cell_clip": pick(draw, (0.0, 0.3)), "proj_clip": 0.0}
    name = "BIDIRECTIONAL_SEQUENCE_LSTM"
    whole = Call(name, tuple(operands), options, outputs=2 - merged)
    return [Part(whole, position) for position in range(2 - merged)]


GENERATORS: dict[str, Generator] = {
    **{operator: _lstm(operator) for operator in ("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM")},
    **{operator: _rnn(operator) for operator in ("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN")},
    "BIDIRECTIONAL_SEQUENCE_LSTM": lstm_in_both_directions,
    "BIDIRECTIONAL_SEQUENCE_RNN": both_directions,
    "SVDF": svdf,
}
