"""What templates can name: roles, coordinates, stores, types, functions and literals."""

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from ...ir import Op
from ...language.expression import FALSE, TRUE, Expression, Operand, Real, Unary
from ...language.functions import clamp, coordinate, horner, lane, maximum, minimum, select
from ...language.language import PIXELS
from ...language.primary import Array, Member, Step, hexadecimal
from ...language.statement import Evaluate, Statements, body
from ...language.types import FLOAT, FLOATS, HALF, HALVES, INTS, LANE, PAIR, RGB
from ...ops.base.launch import Grid
from ...ops.base.storage import bhwc
from ...ops.elementwise.elementwise import Formula
from ...ops.reduce.lines import Fold
from ..binding import Binding
from ..functions.kernel_functions import BUILT_IN, literal
from ..functions.use import Function
from ..kernel_source import SharedArray
from . import control, declarations
from .stores import Stores
from .work_item import WorkItem

_BUILT_IN = {name: Function(name) for name in BUILT_IN}


class Vocabulary:
    """The names of one launch; records what its body needs."""

    def __init__(self, op: Op, binding: Binding, grid: Grid) -> None:
        self._binding, self._target, self._launch = binding, binding.target, binding.launch
        role, written = next(iter(self._launch.writes.items()))
        self._output = binding.roles[role]
        self._functions = binding.functions(binding.sliced)
        self._stores = Stores(op, binding)
        batches = bhwc(written.shape)[0] if binding.sliced else 1
        self.work_item = WorkItem(self._launch, grid, self._launch.batches or batches)
        self.shared: list[SharedArray] = []

    def names(self) -> Mapping[str, Any]:
        """What each of them stands for."""
        language, lanes = self._target.language, self._target.lanes
        half = self._binding.half
        functions = control.vocabulary(self._target)
        scalars, slices = (self._binding.functions(slices) for slices in (False, True))
        return {
            **self._binding.roles,
            **self.work_item.coordinates,
            **functions,
            **declarations.vocabulary(functions["unrolled"]),
            **_BUILT_IN,
            "apply": self._stores.apply,
            "barrier": self.barrier,
            "bit_and": operator.and_,
            "bit_xor": operator.xor,
            "clamp": clamp,
            "coordinate": coordinate,
            "decay": lambda value: (slices if value.type == FLOATS else scalars).decay(value),
            "FALSE": FALSE,
            "enter": self.work_item.enter,
            "enter_grid": self.work_item.enter_grid,
            "enter_linear": self.work_item.enter_linear,
            "formula": self.formula,
            "floats": FLOATS,
            "group": self._launch.group,
            "hexadecimal": hexadecimal,
            "horner": horner,
            "ints": INTS,
            "is_not": lambda condition: Unary("!", condition),
            "lane": self.lane,
            "literal": lambda value: literal(value, self._functions.use),
            "max": maximum,
            "min": minimum,
            "modules": {},
            "next": lambda place: Step(place, 1),
            "number": self.number,
            "pairs": PAIR,
            "repeated": self.repeated,
            "reals": HALVES if half else FLOATS,
            "S": lanes,
            "select": select,
            "share": self.share,
            "shift_right": operator.rshift,
            "slice_loads": self._target.device.slice_loads,
            "few_lanes": self._target.few_lanes,
            "splat": self.splat,
            "splat_ints": lambda value: self.splat(value, INTS),
            "store": self._stores.store,
            "store_at": self._stores.store_at,
            "store_joined": self._stores.store_joined,
            "store_slice_at": self._stores.store_slice_at,
            "sub_groups": self._target.sub_groups,
            "TRUE": TRUE,
            "to_float": scalars.to_float,
            "to_floats": slices.to_float,
            "to_int": scalars.to_int,
            "to_ints": slices.to_int,
            "uniform": self._stores.uniform,
            "use": self._functions,
            "vector": self.vector,
            "whole_floats": slices.whole_float,
            "without_alpha": lambda pixel: Member(pixel, "xyz", RGB),
            "write": self._stores.write,
            "zero": language.zero(HALF if half else FLOAT, lanes),
            "zeros": language.zero(HALVES if half else FLOATS, lanes),
            **self._launch.variables,
        }

    def share(self, kind: str, name: str, count: int) -> Array:
        """An array of floats, integers or slices in local memory."""
        lanes = self._target.lanes if kind in LANE else 1
        element = self._target.language.name_of(kind, lanes)
        self.shared.append(SharedArray(element, name, count, 4 * lanes * count))
        return Array(name, count, kind)

    def barrier(self) -> Statements:
        """Wait until all work-items of the work-group are there."""
        return body(Evaluate(self._functions.wait_for_group()))

    def lane(self, value: Expression, number: int) -> Expression:
        """One lane of a slice that is a variable."""
        return lane(value, number, 4 if value.type in PIXELS else self._target.lanes)

    def splat(self, value: Operand, kind: str = FLOATS) -> Expression:
        return self.vector([value], kind)

    def vector(self, values: Sequence[Operand], kind: str = FLOATS) -> Expression:
        """A slice of as many values as it has lanes."""
        lanes = [
            Real(each) if kind == FLOATS and isinstance(each, int) else each for each in values
        ]
        return self._target.language.made(kind, self._target.lanes, *lanes)

    def formula(self, formula: Formula, *operands: Expression) -> Expression:
        """A formula of an operator table."""
        return self._functions.value(formula, *operands)

    def repeated(self, folds: Mapping[str, Fold]) -> bool:
        """Whether folds of a line together compute with a value more than once."""
        total, v = (self._functions.variable(name, "float32") for name in ("total", "v"))
        return sum(self.formula(fold.add, total, v).count(v) for fold in folds.values()) > 1

    def number(self, value: float) -> Expression:
        """A literal of the output's element type."""
        whole = self._output.element == "int"
        return literal(value, self._functions.use, "int32" if whole else "float32")
