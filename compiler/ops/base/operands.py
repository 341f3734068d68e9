"""How many operands and results each operator takes, and of which kinds: its signature.

The schema does not say: operators in a file have lists of tensors of any length. A signature is

    "CONV_2D input filter:weights bias? -> output"

with the operator's name, its operands, an arrow, and its results. After a colon, the first name may
state the option kernel_type: "LSTM:BASIC". A name of an operand or a result may be followed by

    ?           it may be left out: index -1, or missing at the end of the list
    *           any number of them, including none
    +           any number of them, at least one
    :integer    its element type must be an integer (sizes, axes and indices)
    :int32|int64
                its element type must be one of these
    :bool, :int32, :string, :resource, :variant
                an operand must have this element type; a result gets it
    :weights    an operand must hold floats or quantized weights
    :T          operands marked so must have one element type; results marked so get it
    :U          operands and results marked so must have one element type

These names appear in errors only. Source: the kernels of LiteRT, which reject other numbers and
types, and give results their types whatever the file states.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from ....runtime.printable import printable
from ...errors import ModelError
from ...ir import Op, Tensor

_INTEGERS = frozenset(
    ["int2", "int4", "uint4"]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)

_SINGLE = ("bool", "int32", "string", "resource", "variant")  # Kinds of a single element type.

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

# The kinds of operands that must have one element type; results get it, or must have it.
ALIKE = ("T", "U")


@dataclass(frozen=True)
class Operand:
    """An operand or a result, as declared."""

    name: str
    optional: bool = False
    repeated: bool = False
    # What its element type must be: one of several, with | between them, a key of `_KINDS`, one of
    # `ALIKE`, or "" for any type.
    kind: str = ""

    @property
    def types(self) -> frozenset[str] | None:
        """What its element type must be one of; None for any, and where others decide."""
        return frozenset(self.kind.split("|")) if "|" in self.kind else _KINDS.get(self.kind)


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
        for result, tensor in zip(_repeated(self.results), op.outputs, strict=False):
            if result.kind not in (*ALIKE, *_SINGLE):
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

    def integers(self, op: Op) -> list[Tensor]:
        """The operands that must be integers: sizes, axes and indices."""
        return [
            tensor
            for operand, tensor in self._given(op)
            if operand.types is not None and operand.types <= _INTEGERS
        ]

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
    if declared.types is not None and tensor.dtype not in declared.types:
        raise ModelError(
            f"its {what} {declared.name} must be {declared.kind}, but tensor "
            f"{printable(tensor.name)} is {tensor.dtype}"
        )


_DECLARED: dict[str, str] = {}  # The operands and results of every declared operator, by name.


def declare(*signatures: str) -> None:
    """Declare operators; ValueError if one is declared twice.

    The signature of one of tflgpu's own, which no file has, is just its name.
    """
    for signature in signatures:
        name, _, operands = signature.partition(" ")
        if name in _DECLARED:
            raise ValueError(f"operator {name} is declared twice")
        _DECLARED[name] = operands


def operands_of(op: Op) -> Operands | None:
    """The operands and results that an operator must have; None if nothing is declared."""
    form = f"{op.name}:{op.attrs.get('kernel_type')}"
    text = _DECLARED.get(form) or _DECLARED.get(op.name)
    return _parsed(text) if text else None


@cache
def _parsed(text: str) -> Operands:
    operands, _, results = text.partition("->")
    return Operands(_list(operands), _list(results))


def _list(text: str) -> tuple[Operand, ...]:
    found = []
    for word in text.split():
        name, _, kind = word.rstrip("?*+").partition(":")
        repeated = word[-1] in "*+"
        found.append(Operand(name, word[-1] in "?*", repeated, kind))
    return tuple(found)
