"""Comparisons, logical operators and selections. Truth values are integers, 0 and 1, or floats."""

from collections.abc import Callable, Sequence

import numpy as np

from ...ir import Array, Op, Shape
from ..base.definition import define
from ..base.shapes import broadcast_shapes, same_as_first
from ..base.storage import ANY, FLOATS, INTEGERS
from ..base.traits import Range, hull
from .elementwise import ELEMENTWISE, IMPLEMENTATIONS, Elementwise, Formula, define_elementwise

_COMPARED = (*FLOATS, *INTEGERS, "bool")

# By the end of the option comparison_direction, TFLite's operator, and the function.
DIRECTIONS: dict[str, tuple[str, Callable[[Array, Array], Array]]] = {
    "EQ": ("EQUAL", np.equal),
    "NE": ("NOT_EQUAL", np.not_equal),
    "LT": ("LESS", np.less),
    "LE": ("LESS_EQUAL", np.less_equal),
    "GT": ("GREATER", np.greater),
    "GE": ("GREATER_EQUAL", np.greater_equal),
}

_SMALL = "plain int8, uint8 and int16 are compared as int32"


def _comparison(formula: Formula, versions: int, note: str = _SMALL) -> Elementwise:
    declared = "a:T b:T -> y:bool"
    return Elementwise(formula, dtypes=_COMPARED, note=note, versions=versions, declared=declared)


LOGIC = {
    "EQUAL": _comparison(lambda f, a, b: f.to_int(f.equals(a, b)), versions=5),
    "GREATER": _comparison(lambda f, a, b: f.to_int(a > b), versions=2),
    "GREATER_EQUAL": _comparison(lambda f, a, b: f.to_int(a >= b), versions=3),
    "LESS": _comparison(lambda f, a, b: f.to_int(a < b), versions=3),
    "LESS_EQUAL": _comparison(lambda f, a, b: f.to_int(a <= b), versions=2),
    "LOGICAL_AND": Elementwise(lambda f, a, b: a & b, dtypes=("bool",)),
    "LOGICAL_OR": Elementwise(lambda f, a, b: a | b, dtypes=("bool",)),
    "NOT_EQUAL": _comparison(
        lambda f, a, b: f.to_int(f.differs(a, b)), 4, "plain int8 and uint8 are compared as int32"
    ),
}


def _float(compared: Formula) -> Elementwise:
    return Elementwise(lambda f, a, b: f.select(compared(f, a, b), 1.0, 0.0), cheap=True)


# Those whose truth values are the floats 0 and 1, which slices hold and epilogues compute.
IN_FLOATS = {
    "tflgpu.equal": _float(lambda f, a, b: f.equals(a, b)),
    "tflgpu.greater": _float(lambda f, a, b: f.greater(a, b)),
    "tflgpu.greater_equal": _float(lambda f, a, b: f.greater_equal(a, b)),
    "tflgpu.less": _float(lambda f, a, b: f.less(a, b)),
    "tflgpu.less_equal": _float(lambda f, a, b: f.less_equal(a, b)),
    "tflgpu.not_equal": _float(lambda f, a, b: f.differs(a, b)),
    "tflgpu.logical_not": Elementwise(lambda f, a: 1.0 - a, cheap=True),
    "tflgpu.select": Elementwise(lambda f, a, b, c: f.if_positive(a, b, c), cheap=True),
}

define_elementwise(LOGIC)
define_elementwise(IN_FLOATS)


def _among_choices(op: Op, ranges: Sequence[Range | None]) -> Range | None:
    _, first, second = ranges
    return first and second and hull((first, second))


SELECTION = Elementwise(
    lambda f, a, b, c: f.select(f.differs(a, 0), b, c), dtypes=ANY, range=_among_choices
)


def _infer_select(op: Op) -> list[Shape]:
    """The operands' shape; a condition of rank 1 selects whole rows of them (ModelError)."""
    condition, first, second = (op.operand(i).shape for i in range(3))
    if first != second:
        raise op.invalid(f"{list(first)} and {list(second)} differ")
    if len(condition) == 1 and len(first) > 1 and condition[0] in (1, first[0]):
        return [first]
    if condition not in ((), first):
        raise op.invalid(
            f"the condition {list(condition)} does not match the operands {list(first)}"
        )
    return [first]


def _reference(op: Op, condition: Array, first: Array, second: Array) -> Array:
    """The condition of SELECT, unlike that of SELECT_V2, selects rows if it has rank 1."""
    if op.name == "SELECT" and condition.ndim == 1:
        condition = condition.reshape(-1, *(1,) * (first.ndim - 1))
    return SELECTION.reference(op, condition, first, second)


for _name, _infer, _versions in (("SELECT", _infer_select, 4), ("SELECT_V2", broadcast_shapes, 2)):
    ELEMENTWISE[_name] = SELECTION
    define(
        f"{_name} condition:bool a:T b:T -> y:T",
        _infer,
        IMPLEMENTATIONS,
        _reference,
        ANY,
        versions=_versions,
        traits=SELECTION.traits(),
    )


def direction(op: Op) -> str:
    """The key of `DIRECTIONS`."""
    return str(op.attrs["comparison_direction"]).rpartition("_")[2]


def in_total_order(op: Op) -> bool:
    """Whether NaN is above infinity, or below if negative, and -0 below 0."""
    return str(op.attrs.get("compare_type")).endswith("TOTAL_ORDER")


def _compare(op: Op, *arrays: Array) -> Array:
    ordered = in_total_order(op) and arrays[0].dtype.kind == "f"
    return DIRECTIONS[direction(op)][1](*(map(_total_order, arrays) if ordered else arrays))


def _total_order(array: Array) -> Array:
    """Integers in the order of the floats: those of negative floats fall with their bits."""
    bits = array.astype(np.float32).view(np.int32)
    return np.asarray(bits ^ (bits >> 31 & 0x7FFFFFFF))


define(
    "STABLEHLO_COMPARE a:T b:T -> y:bool",
    same_as_first,
    reference=_compare,
    dtypes=ANY,
    note="becomes LESS and the like; not in total order, except in STABLEHLO_SORT",
    unimplemented_reason="it compares in total order",
)
