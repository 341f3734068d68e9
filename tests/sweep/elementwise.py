"""Elementwise operators: a row for each operator with one or two operands, and a few others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphs import Input, Value, typed
from hypothesis.strategies import DrawFn

from .draws import (
    ACTIVATIONS,
    RANKS,
    SLICED,
    Generator,
    constant,
    data,
    flag,
    given,
    one_in,
    pair,
    part,
    pick,
    shape,
)

REAL = ("float32",)
WHOLE = ("int32", "int64")


@dataclass(frozen=True)
class Row:
    """What an elementwise operator accepts."""

    dtypes: Sequence[str] = REAL
    # How floats are drawn; for the last operand, if there are two.
    draws: Sequence[str] = ("normal",)
    attrs: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    ranks: Sequence[int] = RANKS
    result: str | None = None  # Type of the result, if it is not the type of the operands.
    whole: str = "small"  # How integers of the last operand are drawn.
    broadcasts: bool = True
    activates: bool = False  # Whether it has a fused activation.


UNARY = {
    "ABS": Row(("float32", "int32"), ("normal", "wide")),
    "CEIL": Row(draws=("normal", "wide", "with ties")),
    "COS": Row(draws=("normal", "wide")),
    "ELU": Row(draws=("normal", "wide")),
    "EXP": Row(draws=("normal",)),
    "FAKE_QUANT": Row(
        draws=("normal", "wide"),
        attrs={"min": (-1.0, -0.3, 0.0), "max": (0.7, 6.0), "num_bits": (4, 8, 16)},
    ),
    "FLOOR": Row(draws=("normal", "wide", "with ties")),
    "GELU": Row(draws=("normal", "wide"), attrs={"approximate": (False, True)}),
    "HARD_SWISH": Row(draws=("normal", "wide")),
    "LEAKY_RELU": Row(draws=("normal", "wide"), attrs={"alpha": (0.3, 0.01, 1.5, -0.5)}),
    "LOG": Row(draws=("positive", "small")),
    "LOGICAL_NOT": Row(("bool",)),
    "LOGISTIC": Row(draws=("normal", "wide")),
    "NEG": Row(("float32", *WHOLE)),
    "RELU": Row(draws=("normal", "wide")),
    "RELU6": Row(draws=("normal", "wide")),
    "RELU_0_TO_1": Row(draws=("normal", "wide")),
    "RELU_N1_TO_1": Row(draws=("normal", "wide")),
    "ROUND": Row(draws=("normal", "wide", "with ties")),
    "RSQRT": Row(draws=("positive", "small")),
    "SIGN": Row(("float32", "int32"), ("normal", "small")),
    "SIN": Row(draws=("normal", "wide")),
    "SQRT": Row(draws=("positive", "small")),
    "SQUARE": Row(draws=("normal", "wide")),
    "TANH": Row(draws=("normal", "wide")),
}

_COMPARED = Row(("float32", *WHOLE), ("with ties", "small"), ranks=SLICED, result="bool")

BINARY = {
    "ADD": Row(("float32", *WHOLE), activates=True),
    "ATAN2": Row(draws=("normal",), broadcasts=False),
    "BITWISE_XOR": Row(("int32",), ranks=SLICED),
    "DIV": Row(
        ("float32", "int32"), ("away from zero",), ranks=SLICED, whole="counts", activates=True
    ),
    "EQUAL": Row((*_COMPARED.dtypes, "bool"), _COMPARED.draws, ranks=SLICED, result="bool"),
    "FLOOR_DIV": Row(
        ("float32", "int32"), ("away from zero", "counts"), ranks=SLICED, whole="counts"
    ),
    "FLOOR_MOD": Row(
        ("float32", *WHOLE), ("away from zero", "counts"), ranks=SLICED, whole="counts"
    ),
    "GREATER": _COMPARED,
    "GREATER_EQUAL": _COMPARED,
    "LESS": _COMPARED,
    "LESS_EQUAL": _COMPARED,
    "LOGICAL_AND": Row(("bool",), ranks=SLICED),
    "LOGICAL_OR": Row(("bool",), ranks=SLICED),
    "MAXIMUM": Row(("float32", *WHOLE)),
    "MINIMUM": Row(("float32", *WHOLE)),
    "MUL": Row(("float32", *WHOLE), activates=True),
    "NOT_EQUAL": Row((*_COMPARED.dtypes, "bool"), _COMPARED.draws, ranks=SLICED, result="bool"),
    "RIGHT_SHIFT": Row(("int32",), whole="counts", broadcasts=False),
    "SQUARED_DIFFERENCE": Row(("float32", "int32")),
    "STABLEHLO_ADD": Row(("float32", "int32"), broadcasts=False),
    "STABLEHLO_AND": Row(("int32", "bool"), broadcasts=False),
    "STABLEHLO_MAXIMUM": Row(("float32", "int32"), broadcasts=False),
    "STABLEHLO_MINIMUM": Row(("float32", "int32"), broadcasts=False),
    "STABLEHLO_MULTIPLY": Row(("float32", "int32"), broadcasts=False),
    "STABLEHLO_SHIFT_LEFT": Row(("int32",), whole="counts", broadcasts=False),
    "SUB": Row(("float32", *WHOLE), activates=True),
}


def _attrs(draw: DrawFn, row: Row) -> dict[str, Any]:
    return {name: pick(draw, choices) for name, choices in row.attrs.items()}


def _unary(operator: str, row: Row) -> Generator:
    def generate(draw: DrawFn) -> Value:
        dtype = pick(draw, row.dtypes)
        sizes = () if one_in(draw, 12) else shape(draw, row.ranks)
        kind = pick(draw, row.draws) if dtype == "float32" else None
        return typed(dtype, operator, given(draw, sizes, dtype, kind), **_attrs(draw, row))

    return generate


def _binary(operator: str, row: Row) -> Generator:
    def generate(draw: DrawFn) -> Value:
        dtype = pick(draw, row.dtypes)
        first, second = pair(draw, row.ranks)
        if not row.broadcasts:
            second = first
        kind = pick(draw, row.draws) if dtype == "float32" else row.whole
        free = {"away from zero": "normal", "counts": "small"}.get(kind, kind)
        take, take_last = pick(draw, ((given, given), (given, constant), (constant, given)))
        if one_in(draw, 8) and first == second:
            same = Input(first, "truth" if dtype == "bool" else kind, dtype)
            operands: tuple[Value, Value] = same, same
        else:
            operands = (take(draw, first, dtype, free), take_last(draw, second, dtype, kind))
        attrs = _attrs(draw, row)
        if row.activates and dtype == "float32":
            attrs["fused_activation_function"] = pick(draw, ACTIVATIONS)
        return typed(row.result or dtype, operator, *operands, **attrs)

    return generate


def prelu(draw: DrawFn) -> Value:
    sizes = shape(draw, (2, 3, 4))
    slopes = part(draw, sizes[1:])
    alpha = constant(draw, slopes) if flag(draw) else given(draw, slopes)
    return typed("float32", "PRELU", given(draw, sizes), alpha)


def power(draw: DrawFn) -> Value:
    """Only integer powers of negative values are numbers."""
    first, second = pair(draw, SLICED)
    kinds = pick(draw, (("positive", "normal"), ("away from zero", "places"), ("small", "counts")))
    return typed(
        "float32", "POW", given(draw, first, kind=kinds[0]), data(draw, second, kind=kinds[1])
    )


def select(draw: DrawFn) -> Value:
    """Both operands have one shape; the condition has it too, or an entry per row."""
    dtype = pick(draw, ("float32", "int32", "int64", "bool"))
    sizes = shape(draw)
    condition = pick(draw, (sizes, sizes, sizes[:1], ()))
    chosen = data(draw, sizes, dtype), data(draw, sizes, dtype)
    return typed(dtype, "SELECT", given(draw, condition, "bool"), *chosen)


def select_broadcasting(draw: DrawFn) -> Value:
    dtype = pick(draw, ("float32", "int32", "int64", "bool"))
    whole = shape(draw, SLICED)
    shapes = [part(draw, whole) if flag(draw) else whole for _ in range(3)]
    chosen = data(draw, shapes[1], dtype), data(draw, shapes[2], dtype)
    return typed(dtype, "SELECT_V2", given(draw, shapes[0], "bool"), *chosen)


def add_n(draw: DrawFn) -> Value:
    dtype = pick(draw, ("float32", "int32"))
    sizes = shape(draw)
    count = pick(draw, (1, 2, 3, 5))
    return typed(dtype, "ADD_N", given(draw, sizes, dtype), *_more(draw, sizes, dtype, count - 1))


def _more(draw: DrawFn, sizes: tuple[int, ...], dtype: str, count: int) -> list[Value]:
    return [data(draw, sizes, dtype) for _ in range(count)]


GENERATORS: dict[str, Generator] = {
    **{operator: _unary(operator, row) for operator, row in UNARY.items()},
    **{operator: _binary(operator, row) for operator, row in BINARY.items()},
    "ADD_N": add_n,
    "POW": power,
    "PRELU": prelu,
    "SELECT": select,
    "SELECT_V2": select_broadcasting,
}
