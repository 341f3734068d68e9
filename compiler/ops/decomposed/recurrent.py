"""LSTM, RNN, SVDF, UNIDIRECTIONAL_SEQUENCE_LSTM and _RNN, and both directions: shapes only.

`rewrites/decompose/recurrent.py` decomposes them; `split_directions.py` there puts two layers in
the place of a bidirectional one.
"""

from collections.abc import Collection, Mapping, Sequence

from ...ir import Op, Shape, Tensor
from ..base.definition import OPS, define
from ..base.operands import declare

INPUT, FORGET, CELL, OUTPUT = range(4)  # The gates of an LSTM in the order of its operands.

# Positions of the first of an LSTM's four matrices for its input and for its output state.
INPUT_WEIGHTS, RECURRENT_WEIGHTS = 1, 5

PEEPHOLES = {INPUT: 9, FORGET: 10, OUTPUT: 11}
# Positions of the first of an LSTM's four biases, and of its layer normalization's factors.
BIASES, NORMS = 12, 20

PROJECTION, PROJECTION_BIAS = 16, 17

# Positions of the LSTM inputs that keep their content between runs.
OUTPUT_STATE, CELL_STATE = 18, 19

# Layers that apply their activation within a step, not to what it gives.
STEPPING = ("LSTM", "RNN", "UNIDIRECTIONAL_SEQUENCE_LSTM", "UNIDIRECTIONAL_SEQUENCE_RNN")

# Layers in one direction, whose states have an entry for each of the batch.
RECURRENT = (*STEPPING, "SVDF")

# The position of a second input, which stacked layers may have.
AUXILIARY = {"BIDIRECTIONAL_SEQUENCE_LSTM": 39, "BIDIRECTIONAL_SEQUENCE_RNN": 9}

_IN_LITERT = {
    "BIDIRECTIONAL_SEQUENCE_LSTM": "with batch first and a batch above 1, LiteRT's results vary",
    "BIDIRECTIONAL_SEQUENCE_RNN": "with int8 weights and time first, LiteRT's results are wrong",
}


def _check(op: Op, expected: Mapping[int, Shape]) -> None:
    """ModelError unless the operands that are not left out have the expected shapes."""
    for position, shape in expected.items():
        tensor = op.input(position)
        if tensor is not None and tensor.shape != shape:
            raise op.invalid(
                f"operand {position} ({tensor.name}) has the shape {list(tensor.shape)} instead of "
                f"{list(shape)}"
            )


def _rows(op: Op, rank: int) -> tuple[Shape, int, int]:
    """The input's shape without its last axis, its batch size, and its last axis (ModelError)."""
    shape = op.operand(0).shape
    if len(shape) != rank:
        raise op.invalid(f"the input {list(shape)} does not have rank {rank}")
    return shape[:-1], shape[batch_axis(op)], shape[-1]


def batch_axis(op: Op) -> int:
    """The axis of the input along which entries have states of their own."""
    return int(len(op.operand(0).shape) == 3 and op.attrs.get("time_major", False))


def _matrix(op: Op, position: int) -> Shape:
    shape = op.operand(position).shape
    if len(shape) != 2:
        raise op.invalid(
            f"operand {position} ({op.operand(position).name}) has the shape {list(shape)} instead "
            f"of a matrix's"
        )
    return shape


def _infer_full(op: Op) -> list[Shape]:
    """The output of an LSTM: a vector of the size of its output state for each step."""
    rows, batch, width = _rows(op, 2 if op.name == "LSTM" else 3)
    cells, outputs = _matrix(op, RECURRENT_WEIGHTS + 3)
    expected: dict[int, Shape] = {
        **dict.fromkeys(range(INPUT_WEIGHTS, INPUT_WEIGHTS + 4), (cells, width)),
        **dict.fromkeys(range(RECURRENT_WEIGHTS, RECURRENT_WEIGHTS + 4), (cells, outputs)),
        **dict.fromkeys(range(9, 16), (cells,)),
        **{PROJECTION: (outputs, cells), PROJECTION_BIAS: (outputs,)},
        **{OUTPUT_STATE: (batch, outputs), CELL_STATE: (batch, cells)},
        **dict.fromkeys(range(NORMS, NORMS + 4), (cells,)),
    }
    if op.input(PROJECTION) is None and cells != outputs:
        raise op.invalid(f"{cells} cells have {outputs} outputs, but there is no projection")
    _check(op, expected)
    return [(*rows, outputs)]


def infer_lstm(op: Op) -> list[Shape]:
    """Output, new cell state and two scratch tensors for kernel type BASIC; else the output."""
    if op.attrs.get("kernel_type", "FULL") == "FULL":
        return _infer_full(op)
    rows, batch, width = _rows(op, 2)
    cells = op.operand(4).shape[-1:]
    gates, joint = 4 * sum(cells), width + sum(cells)
    state = (batch, *cells)
    _check(op, {1: state, 2: (gates, joint), 3: (gates,), 4: state})
    return [state, state, (*rows, joint), (*rows, gates)][: len(op.outputs)]


def _infer_rnn(op: Op) -> list[Shape]:
    rows, batch, width = _rows(op, 2 if op.name == "RNN" else 3)
    units = _matrix(op, 1)[0]
    _check(op, {1: (units, width), 2: (units, units), 3: (units,), 4: (batch, units)})
    return [(*rows, units)]


def _infer_svdf(op: Op) -> list[Shape]:
    _, batch, width = _rows(op, 2)
    (filters, memory), rank = _matrix(op, 2), int(op.attrs.get("rank", 1))
    if rank < 1 or filters % rank:
        raise op.invalid(f"{filters} filters are not a multiple of the rank {rank}")
    units = filters // rank
    _check(op, {1: (filters, width), 3: (units,), 4: (batch, memory * filters)})
    return [(batch, units)]


_NOTE = "becomes FULLY_CONNECTED and elementwise operators"
_BY_STEPS = f"{_NOTE}, step by step"

_GATES = ("input", "forget", "cell", "output")
_PEEPHOLES = ("input", "forget", "output")


def _of(gates: Sequence[str], thing: str, optional: Collection[str] = ()) -> str:
    """An operand for each gate; those of the gates in `optional` may be left out."""
    return " ".join(f"{gate}_{thing}{'?' if gate in optional else ''}" for gate in gates)


# A cell without an input gate has it coupled to the forget gate.
_WEIGHTS = " ".join(
    [
        _of(_GATES, "weights", ("input",)),
        _of(_GATES, "recurrent_weights", ("input",)),
        _of(_PEEPHOLES, "peephole", _PEEPHOLES),
        _of(_GATES, "bias", ("input",)),
        "projection? projection_bias?",
    ]
)
_STATES = "output_state cell_state"
_AUXILIARY = _of(_GATES, "auxiliary_weights", _GATES)

_LSTM = f"input {_WEIGHTS} {_STATES} {_of(_GATES, 'norm', _GATES)} -> output"
_RNN = "input weights recurrent bias state -> output"

define(f"LSTM {_LSTM}", infer_lstm, note=_NOTE, versions=4)
define(f"RNN {_RNN}", _infer_rnn, note=_NOTE, versions=3)
define("SVDF input features ages bias? state -> output", _infer_svdf, note=_NOTE, versions=4)
define(f"UNIDIRECTIONAL_SEQUENCE_LSTM {_LSTM}", _infer_full, note=_BY_STEPS, versions=4)
define(f"UNIDIRECTIONAL_SEQUENCE_RNN {_RNN}", _infer_rnn, note=_BY_STEPS, versions=3)
declare("LSTM:BASIC input output_state weights bias cell_state -> output cell? joint? gates?")


def layers(op: Op) -> tuple[Op, Op]:
    """The layer that runs forwards, and the one that runs backwards; they are in no graph."""
    name = op.name.replace("BIDIRECTIONAL", "UNIDIRECTIONAL")
    attrs = {key: value for key, value in op.attrs.items() if key != "merge_outputs"}
    forward, backward = (
        Op(name, (op.operand(0), *own), (Tensor("y", ()),), attrs, op.index)
        for own in (_operands(op, 0), _operands(op, 1))
    )
    return forward, backward


def _operands(op: Op, direction: int) -> Sequence[Tensor | None]:
    """The weights and states of a direction; those of an LSTM have all weights in front."""
    if op.name == "BIDIRECTIONAL_SEQUENCE_RNN":
        return op.inputs[1 + 4 * direction :][:4]
    return *op.inputs[1 + 17 * direction :][:17], *op.inputs[35 + 2 * direction :][:2]


def _infer_both(op: Op) -> list[Shape]:
    forward, backward = (OPS[layer.name].infer(layer)[0] for layer in layers(op))
    merged = bool(op.attrs.get("merge_outputs", False))
    if len(op.outputs) != 2 - merged:
        raise op.invalid(f"it has {len(op.outputs)} results, merged: {merged}")
    return [(*forward[:-1], forward[-1] + backward[-1])] if merged else [forward, backward]


_BOTH = {
    "BIDIRECTIONAL_SEQUENCE_LSTM": f"input {_WEIGHTS} {_WEIGHTS} {_STATES} {_STATES} auxiliary? "
    f"{_AUXILIARY} {_AUXILIARY}",
    "BIDIRECTIONAL_SEQUENCE_RNN": "input weights recurrent bias state weights recurrent bias state "
    "auxiliary? auxiliary_weights? auxiliary_weights?",
}

for _name, _both in _BOTH.items():
    _layer = _name.replace("BIDIRECTIONAL", "UNIDIRECTIONAL")
    _note = f"becomes a {_layer} in each direction; {_IN_LITERT[_name]}"
    _signature = f"{_name} {_both} -> forward backward?"
    define(_signature, _infer_both, note=_note, versions=3)
