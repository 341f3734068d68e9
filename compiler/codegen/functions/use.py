"""Names of intrinsics in code that builds kernels.

It gets an intrinsic's name from a `Use`, which records it, so that a kernel gets exactly the
definitions it needs.
"""

from ...errors import RenderError
from ...intrinsics import INTRINSICS
from ...language.expression import Expression, Name, Operand, common_type, expression
from ...language.primary import Array, Call
from ...language.types import BOOL, BOOLS, FLOAT, LANE


class Function(Name):
    """A function of kernels, or what stands for a value: `exp(v)`, `use.lane_places`."""

    __slots__ = ("_gives",)

    def __init__(self, name: str, gives: str = "") -> None:
        super().__init__(name, gives or FLOAT)
        self._gives = gives

    def __call__(self, *operands: Operand | Array) -> Expression:
        known = [Name(each.name) if isinstance(each, Array) else each for each in operands]
        given = common_type(*map(expression, known))
        kind = BOOLS if self._gives == BOOL and given in LANE else self._gives or given
        return Call(str(self), *known, type=kind)


class Use:
    """Returns an intrinsic's name by attribute, such as `use.sum_lanes`, and records it.

    Some intrinsics have a variant for slices whose name ends in S; with `slices` it is preferred.
    Without `keep_nan`, functions of the languages replace those that differ only in NaN.
    """

    def __init__(self, used: set[str], slices: bool = False, keep_nan: bool = True) -> None:
        self._used, self._slices, self._keep_nan = used, slices, keep_nan

    def function(self, name: str) -> Function:
        found = getattr(self, name)
        return Function(found, INTRINSICS[found].gives if found in INTRINSICS else "")

    def __getattr__(self, name: str) -> str:
        if self._slices and f"{name}S" in INTRINSICS:
            name = f"{name}S"
        if name not in INTRINSICS:
            raise RenderError(f"no intrinsic {name} in compiler/intrinsics")
        native = "" if self._keep_nan else INTRINSICS[name].any_nan
        if native:
            return native
        self._used.add(name)
        return name
