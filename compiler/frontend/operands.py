"""How many operands and results each operator takes, and of which kinds.

The schema does not say: operators in a file have lists of tensors of any length. Each operator is
declared here in the form

    "input filter:weights bias? -> output"

with its operands, an arrow, and its results. A name may be followed by

    ?           it may be left out: index -1, or missing at the end of the list
    *           any number of them, including none
    +           any number of them, at least one
    :integer    its element type must be an integer (sizes, axes and indices)
    :bool, :int32, :string, :resource, :variant
                an operand must have this element type; a result gets it
    :weights    an operand must hold floats or quantized weights
    :T          operands marked so must have one element type; results marked so get it
    :U          operands and results marked so must have one element type

The names appear in errors only. Source: the kernels of LiteRT, which reject other numbers and
types, and give results their types whatever the file states.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from ...runtime.printable import printable
from ..errors import ModelError
from ..ir import Op, Tensor

_INTEGERS = frozenset(
    ["int2", "int4", "uint4"]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)

_SINGLE = ("bool", "int32", "string", "resource", "variant")
"""Kinds of a single element type."""

_KINDS = {
    "integer": _INTEGERS,
    "weights": frozenset(
        [
            *("float32", "float16", "bfloat16", "float64"),
            *("int8", "uint8", "int16", "int2", "int4", "uint4"),
        ]
    ),
    **{name: frozenset([name]) for name in _SINGLE},
}

ALIKE = ("T", "U")
"""The kinds of operands that must have one element type; results get it, or must have it."""

_GATES = ("input", "forget", "cell", "output")
_PEEPHOLES = ("input", "forget", "output")


def _of(gates: Sequence[str], thing: str, optional: Collection[str] = ()) -> str:
    """An operand for each gate; those of the gates in `optional` may be left out."""
    return " ".join(f"{gate}_{thing}{'?' if gate in optional else ''}" for gate in gates)


# A cell without an input gate has it coupled to the forget gate.
_CELL = " ".join(
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

_DECLARED = (
    # A declaration, and the names of its operators; after a colon, the option kernel_type.
    ("x -> y", "DEQUANTIZE QUANTIZE SOFTMAX CAST BITCAST SHAPE REAL IMAG COMPLEX_ABS"),
    ("x -> y:int32", "BUCKETIZE RANK"),
    ("x:U -> y:U", "SQUEEZE"),
    (
        "x:T -> y:T",
        "ABS CEIL COS ELU EXP FLOOR GELU HARD_SWISH L2_NORMALIZATION LEAKY_RELU "
        "LOCAL_RESPONSE_NORMALIZATION LOG LOGISTIC LOG_SOFTMAX NEG RELU RELU6 RELU_0_TO_1 "
        "RELU_N1_TO_1 ROUND RSQRT SIGN SIN SQRT SQUARE TANH FAKE_QUANT "
        "AVERAGE_POOL_2D MAX_POOL_2D L2_POOL_2D DEPTH_TO_SPACE SPACE_TO_DEPTH "
        "ZEROS_LIKE DENSIFY MATRIX_DIAG",
    ),
    (
        "a:T b:T -> y:T",
        "ADD SUB DIV ATAN2 BITWISE_XOR FLOOR_DIV FLOOR_MOD MAXIMUM MINIMUM POW RIGHT_SHIFT "
        "SQUARED_DIFFERENCE STABLEHLO_ADD STABLEHLO_AND STABLEHLO_MAXIMUM STABLEHLO_MINIMUM "
        "STABLEHLO_MULTIPLY STABLEHLO_SHIFT_LEFT",
    ),
    ("a:U b:U -> y:U", "MUL"),
    ("a b -> y", "BATCH_MATMUL"),
    ("a:bool b:bool -> y:bool", "LOGICAL_AND LOGICAL_OR"),
    ("x:bool -> y:bool", "LOGICAL_NOT"),
    ("x:T slope:T -> y:T", "PRELU"),
    ("x:U axes:integer -> y:U", "MEAN SUM REDUCE_MAX REDUCE_MIN REDUCE_PROD"),
    ("x:T axes:integer -> y:T", "REVERSE_V2"),
    ("x:bool axes:integer -> y:bool", "REDUCE_ALL REDUCE_ANY"),
    ("x:T axis:integer -> y:T", "EXPAND_DIMS"),
    ("x:U axis:integer -> y:U", "CUMSUM"),
    ("x axis:integer -> y:integer", "ARG_MAX ARG_MIN"),
    ("x:T order:integer -> y:T", "TRANSPOSE"),
    ("x:T sizes:integer -> y:T", "TILE BROADCAST_TO RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR"),
    ("x sizes:integer -> y", "RFFT2D"),
    ("x:U shape? -> y:U", "RESHAPE"),
    ("x:T paddings:integer -> y:T", "PAD MIRROR_PAD"),
    ("x:T paddings:integer fill:T -> y:T", "PADV2"),
    ("x:T dilations:integer fill:T -> y:T", "DILATE"),
    ("x:T fill:T -> y:T", "STABLEHLO_PAD"),
    ("x:T start:T -> y:T", "STABLEHLO_REDUCE_WINDOW"),
    ("x:T weights:T -> y:T", "STABLEHLO_CONVOLUTION"),
    ("x:T starts:integer* -> y:T", "STABLEHLO_DYNAMIC_SLICE"),
    ("x:T update:T starts:integer* -> y:T", "STABLEHLO_DYNAMIC_UPDATE_SLICE"),
    ("x:T indices:integer updates:T -> y:T", "STABLEHLO_SCATTER"),
    (
        "a:T b:T -> y:bool",
        "EQUAL NOT_EQUAL LESS LESS_EQUAL GREATER GREATER_EQUAL STABLEHLO_COMPARE",
    ),
    ("x:T start:T window:integer strides:integer dilations:integer -> y:T", "REDUCE_WINDOW"),
    ("x:T begin:integer size:integer -> y:T", "SLICE"),
    ("x:T begin:integer end:integer strides:integer -> y:T", "STRIDED_SLICE"),
    ("x:T update:T start:integer -> y:T", "DYNAMIC_UPDATE_SLICE"),
    ("axis:integer x:T -> y:T*", "SPLIT"),
    ("x:T sizes:integer axis:integer -> y:T*", "SPLIT_V"),
    ("x:T -> y:T*", "UNPACK"),
    ("x:T k:integer -> values:T indices:integer", "TOPK_V2"),
    ("x:T -> values:T indices:integer", "UNIQUE"),
    ("x:T block:integer crops:integer -> y:T", "BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND"),
    ("x:T indices:integer -> y:T", "GATHER GATHER_ND STABLEHLO_GATHER"),
    ("ids:integer table -> y", "EMBEDDING_LOOKUP"),
    ("indices:integer updates:T shape:integer -> y:T", "SCATTER_ND"),
    ("indices:integer depth:integer on:T off:T -> y:T", "ONE_HOT"),
    ("indices:integer shape:integer values:T default:T -> y:T", "SPARSE_TO_DENSE"),
    ("x:T ids:integer -> y:T", "SEGMENT_SUM"),
    (
        "x:T ids:integer count:integer -> y:T",
        "UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_MIN UNSORTED_SEGMENT_SUM",
    ),
    ("x:T lengths:integer -> y:T", "REVERSE_SEQUENCE"),
    ("x:T diagonal:T -> y:T", "MATRIX_SET_DIAG"),
    ("condition:bool a:T b:T -> y:T", "SELECT SELECT_V2"),
    ("condition -> y:integer", "WHERE"),
    ("shape:integer value:T -> y:T", "FILL"),
    ("start:T limit:T step:T -> y:T", "RANGE"),
    ("a:integer b:integer -> y", "BROADCAST_ARGS"),
    ("-> y", "STABLEHLO_IOTA"),
    ("shape:integer -> y", "RANDOM_STANDARD_NORMAL RANDOM_UNIFORM"),
    ("logits count:integer -> y", "MULTINOMIAL"),
    ("x:T+ -> y:T", "CONCATENATION PACK ADD_N"),
    ("operands+ -> results+", "STABLEHLO_SORT"),
    ("input filter:weights bias? -> output", "CONV_2D DEPTHWISE_CONV_2D CONV_3D"),
    ("shape:integer filter:weights input bias? -> output", "TRANSPOSE_CONV CONV_3D_TRANSPOSE"),
    ("input weights:weights bias? -> output shuffled?", "FULLY_CONNECTED"),
    (
        "boxes:T scores:T limit:integer overlap:T score:T -> indices:integer count:integer",
        "NON_MAX_SUPPRESSION_V4",
    ),
    (
        "boxes:T scores:T limit:integer overlap:T score:T sigma:T "
        "-> indices:integer scores:T count:integer",
        "NON_MAX_SUPPRESSION_V5",
    ),
    ("input weights recurrent bias state -> output", "RNN UNIDIRECTIONAL_SEQUENCE_RNN"),
    ("input features ages bias? state -> output", "SVDF"),
    (
        f"input {_CELL} {_STATES} {_of(_GATES, 'norm', _GATES)} -> output",
        "LSTM UNIDIRECTIONAL_SEQUENCE_LSTM",
    ),
    (
        f"input {_CELL} {_CELL} {_STATES} {_STATES} auxiliary? {_AUXILIARY} {_AUXILIARY} "
        "-> forward backward?",
        "BIDIRECTIONAL_SEQUENCE_LSTM",
    ),
    (
        "input weights recurrent bias state weights recurrent bias state auxiliary? "
        "auxiliary_weights? auxiliary_weights? -> forward backward?",
        "BIDIRECTIONAL_SEQUENCE_RNN",
    ),
    ("input output_state weights bias cell_state -> output cell? joint? gates?", "LSTM:BASIC"),
    ("condition inputs* -> outputs*", "IF"),
    ("inputs* -> outputs*", "WHILE STABLEHLO_COMPOSITE"),
    ("->", "CALL_ONCE"),
    ("-> handle:resource", "VAR_HANDLE HASHTABLE"),
    ("handle:resource -> value", "READ_VARIABLE"),
    ("handle:resource value ->", "ASSIGN_VARIABLE"),
    ("handle:resource keys default -> values", "HASHTABLE_FIND"),
    ("handle:resource keys values ->", "HASHTABLE_IMPORT"),
    ("handle:resource -> size", "HASHTABLE_SIZE"),
    ("shape:integer length:integer -> list:variant", "FlexTensorListReserve"),
    ("list:variant place:integer entry -> list:variant", "FlexTensorListSetItem"),
    ("list:variant shape:integer -> y", "FlexTensorListStack"),
    ("boxes scores anchors -> boxes classes scores count", "TFLite_Detection_PostProcess"),
    ("image coordinates -> y", "Resampler"),
    ("input filter:weights bias -> output", "Convolution2DTransposeBias"),
    ("x -> values places", "MaxPoolingWithArgmax2D"),
    ("x places -> y", "MaxUnpooling2D LiteRtMaxUnpooling2D"),
    ("x shares experts:integer gate up down scales more* -> y", "moe"),
)


@dataclass(frozen=True)
class Operand:
    """An operand or a result, as declared."""

    name: str
    optional: bool = False
    repeated: bool = False
    kind: str = ""
    """What its element type must be: a key of `_KINDS`, one of `ALIKE`, or "" for any type."""


@dataclass(frozen=True)
class Operands:
    """The operands and results of an operator, as declared."""

    operands: tuple[Operand, ...]
    results: tuple[Operand, ...]

    def check(self, op: Op) -> None:
        """ModelError if an operator has other operands or results."""
        _check_count("operand", self.operands, len(op.inputs))
        _check_count("result", self.results, len(op.outputs))
        for operand, given in zip(_repeated(self.operands), op.inputs, strict=False):
            if given is None and (operand.repeated or not operand.optional):
                raise ModelError(f"its operand {operand.name} is left out")
        for operand, tensor in self._given(op):
            _check_kind("operand", operand, tensor)
        for result, tensor in self._computed(op, "integer"):
            _check_kind("result", result, tensor)
        alike = self.alike(op)
        for operand, tensor in [*self._given(op), *self._computed(op, "U")]:
            if operand.kind in ALIKE and tensor.dtype != alike[0].dtype:
                raise ModelError(
                    f"{operand.name} must be {alike[0].dtype} as tensor "
                    f"{printable(alike[0].name)} is, but tensor {printable(tensor.name)} is "
                    f"{tensor.dtype}"
                )

    def alike(self, op: Op) -> list[Tensor]:
        """The operands that must have one element type."""
        return [tensor for operand, tensor in self._given(op) if operand.kind in ALIKE]

    def set_result_types(self, op: Op) -> None:
        """Give results the element types that the declaration says."""
        for _, tensor in self._computed(op, "T"):
            if alike := self.alike(op):
                tensor.dtype = alike[0].dtype
        for name in _SINGLE:
            for _, tensor in self._computed(op, name):
                tensor.dtype = name

    def _computed(self, op: Op, kind: str) -> list[tuple[Operand, Tensor]]:
        """The results of a kind, with their declarations."""
        pairs = zip(_repeated(self.results), op.outputs, strict=False)
        return [(result, tensor) for result, tensor in pairs if result.kind == kind]

    def _given(self, op: Op) -> list[tuple[Operand, Tensor]]:
        """The operands that are not left out, with their declarations."""
        pairs = zip(_repeated(self.operands), op.inputs, strict=False)
        return [(operand, tensor) for operand, tensor in pairs if tensor is not None]


def _repeated(declared: Sequence[Operand]) -> Iterator[Operand]:
    """The declarations, the last one again and again if it may be repeated."""
    yield from declared
    while declared and declared[-1].repeated:
        yield declared[-1]


def _check_count(what: str, declared: Sequence[Operand], count: int) -> None:
    required = [position for position, each in enumerate(declared, 1) if not each.optional]
    least, most = max(required, default=0), len(declared)
    if declared and declared[-1].repeated:
        least, most = least - declared[-1].optional, count
    if not least <= count <= most:
        names = ", ".join(each.name + "?" * each.optional for each in declared) or "none"
        verb = "takes" if what == "operand" else "computes"
        raise ModelError(f"it has {count} {what}{'s' * (count != 1)}, but {verb} {names}")


def _check_kind(what: str, declared: Operand, tensor: Tensor) -> None:
    if declared.kind in _KINDS and tensor.dtype not in _KINDS[declared.kind]:
        raise ModelError(
            f"its {what} {declared.name} must be {declared.kind}, but tensor "
            f"{printable(tensor.name)} is {tensor.dtype}"
        )


@cache
def _declarations() -> dict[str, Operands]:
    return read_declarations(_DECLARED)


def read_declarations(rows: Iterable[tuple[str, str]]) -> dict[str, Operands]:
    """The declarations of operators, by name (ValueError for one that is declared twice)."""
    found: dict[str, Operands] = {}
    for text, names in rows:
        operands, _, results = text.partition("->")
        parsed = Operands(_parsed(operands), _parsed(results))
        for name in names.split():
            if name in found:
                raise ValueError(f"{name} is declared twice, the second time as {text}")
            found[name] = parsed
    return found


def _parsed(text: str) -> tuple[Operand, ...]:
    found = []
    for word in text.split():
        name, _, kind = word.rstrip("?*+").partition(":")
        repeated = word[-1] in "*+"
        found.append(Operand(name, word[-1] in "?*", repeated, kind))
    return tuple(found)


def declared(op: Op) -> Operands | None:
    """The declaration of an operator; None for one that is not in the table."""
    known = _declarations()
    return known.get(f"{op.name}:{op.attrs.get('kernel_type')}", known.get(op.name))


def declared_alike(op: Op) -> list[Tensor]:
    """The operands that share an element type, in contrast to axes, sizes and the like."""
    found = declared(op)
    return found.alike(op) if found is not None else []


def check_operands(op: Op) -> None:
    """ModelError if an operator has other operands or results than its declaration says."""
    found = declared(op)
    if found is not None:
        found.check(op)


def set_result_types(op: Op) -> None:
    """Give results the element types that follow from the operands', as LiteRT does."""
    found = declared(op)
    if found is not None:
        found.set_result_types(op)
