"""Lines: what reductions, softmaxes and normalizations walk along, and the launches that do.

A line is all that is reduced to one value: some axes of a tensor. Kernels walk along it slice by
slice, element by element, by slices of the elements of a row, or along as many neighbouring lines
at once as a slice has lanes; its parts may be shared by the work-items of a group. One template an
operation, and one for each kind of walk:

    template            op                          walk
    softmax.jinja       largest, sum, quotients     slices.jinja, elements.jinja, rows.jinja,
                                                    columns.jinja
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from math import inf, prod
from typing import Any

from ...ir import Op, Shape
from ...target import Target
from ..base.launch import Grid, Launch, linear_grid
from ..base.parts import power_of_two
from ..base.shapes import with_ones
from ..base.storage import bhwc, slice_count
from ..elementwise.elementwise import Formula

SEATS = 16  # Slices that are kept at a time where local memory is cleared.

# Slices that a work-item adds up for each barrier at which others take turns, at least. A software
# driver changes to other work-items there.
A_BARRIER = 2


def seats(items: int, target: Target) -> int:
    """How many of so many work-items, a power of two, keep a slice each for others to join.

    Usually all do. Where local memory is cleared before a work-group begins, which takes the longer
    the more there is, they take turns: those of later turns join what they have with what is there.
    """
    return min(items, SEATS) if target.language.clears_local_memory else items


# Fewest work-items that are worth their barriers: 256 / 4, as in LiteRT's tasks/reduce.cc.
MIN_GROUP = 64

SHORT_LINE = 32  # The most values of a line that registers hold.


@dataclass(frozen=True)
class Fold:
    """How the values along a line become one."""

    start: float
    add: Formula
    lanes: str = ""  # The intrinsic that does the same to the lanes of a slice.
    # The intrinsics with which a sub-group does it with numbers and with slices; "" for none.
    by_sub_group: tuple[str, str] = ("", "")
    join: Formula | None = None  # The formula of two totals, if it is not `add`.
    # Whether nested loops of it are kept: Intel's compiler does not end with long chains of it,
    # such as 8 rounds of 32.
    rolled: bool = False

    @property
    def joined(self) -> Formula:
        return self.join or self.add


SUM = Fold(0.0, lambda f, total, v: total + v, "sum_lanes", ("sub_group_sum", "sub_group_sums"))
SQUARES = replace(SUM, add=lambda f, total, v: total + v * v, join=SUM.add)
LARGEST = Fold(
    -inf,
    lambda f, total, v: f.max(total, v),
    "max_lanes",
    ("sub_group_max", ""),
    rolled=True,
)
SMALLEST = Fold(inf, lambda f, total, v: f.min(total, v), "min_lanes", rolled=True)


@dataclass(frozen=True)
class Lines:
    """What a template computes along lines of the input of an operator."""

    op: Op
    template: str
    variables: Mapping[str, Any]
    flops: int
    # Whether the lanes of each slice are joined at once, so that totals are numbers; otherwise in
    # the end.
    lanes_first: bool = False

    within: Shape | None = None  # The shape that lines lie in, if not that of the operand.

    @property
    def shape(self) -> Shape:
        """The shape that the axes are those of."""
        return self.within or self.op.operand(0).shape

    def by_slices(
        self, target: Target, axes: Collection[int], *, group_items: int = 0, flatten: bool = False
    ) -> Launch:
        """Along axes of (batch, height, width, channels), slice by slice.

        `group_items` work-items share the outermost of them, if not 0. These, or `flatten`, make
        height and width one axis.
        """
        flatten = flatten or group_items > 0
        batch, height, width, channels = bhwc(self.shape)
        height, width = (1, height * width) if flatten else (height, width)
        sizes = (batch, height, width, slice_count(channels, target))
        batch, height, width, slices = with_ones(sizes, axes)
        grid = (
            (group_items, width, batch * slices) if group_items else (width, height, batch * slices)
        )
        variables = {"walked": axes, "seats": seats(max(group_items, 1), target)}
        launch = self._launch("reduce/slices.jinja", "", grid, group_items, variables)
        return replace(launch, flatten=flatten)

    def by_elements(
        self, axes: Collection[int], *, group_items: int = 0, hold: bool = False
    ) -> Launch:
        """Along any axes, element by element; the work-items of a group, if any, share the last.

        With `hold`, what is made of the values of a short line is held in registers.
        """
        shape, walked = merged(self.shape, axes)
        lines = prod(size for axis, size in enumerate(shape) if axis not in walked)
        count = prod(self.shape) // max(lines, 1)
        held = hold and len(walked) == 1 and 1 < count <= SHORT_LINE
        variables = {"shape": shape, "walked": walked, "lines": lines, "held": held}
        grid = (group_items, lines, 1) if group_items else linear_grid(lines)
        return self._launch("reduce/elements.jinja", "_linear", grid, group_items, variables)

    def by_rows(self, axes: int = 1, *, hold: bool = False) -> Launch:
        """Along the last axes, slice by slice, and element by element over the rest.

        With `hold`, what is made of the values of a row is held where the results are to be, in
        place of making it again.
        """
        lines, columns = prod(self.shape[:-axes]), prod(self.shape[-axes:])
        variables = {"lines": lines, "columns": columns, "held": hold}
        return self._launch("reduce/rows.jinja", "_rows", linear_grid(lines), 0, variables)

    def by_columns(self, target: Target, axes: Collection[int]) -> Launch:
        """Along axes before the last one, a slice of neighbouring lines at a time.

        Rows of whole slices are one, where they neighbour each other. Others may have gaps between.
        """
        shape, walked = merged(self.shape, axes)
        if self.shape[-1] % target.lanes:
            shape, walked = merged(self.shape[:-1], axes)
            shape += self.shape[-1:]
        outer = prod(size for axis, size in enumerate(shape[:-1]) if axis not in walked)
        lines = outer * slice_count(shape[-1], target)
        variables = {"shape": shape, "walked": walked, "lines": lines}
        return self._launch("reduce/columns.jinja", "_columns", linear_grid(lines), 0, variables)

    def _launch(
        self, walk: str, variant: str, grid: Grid, group_items: int, variables: Mapping[str, Any]
    ) -> Launch:
        return Launch(
            self.template,
            grid,
            {"x": self.op.operand(0)},
            {"y": self.op.output},
            variables={
                "walk": walk,
                "group_items": max(group_items, 1),
                "seats": max(group_items, 1),
                "lanes_first": self.lanes_first,
                "held": False,
                **variables,
                **self.variables,
            },
            variant="_group" * (group_items > 1) + variant,
            group=(group_items, 1, 1) if group_items else None,
            flops=self.flops,
        )


def several(shape: Shape, axes: Collection[int]) -> list[int]:
    """Those of the axes, in order, along which there is more than one element."""
    return [axis for axis, size in enumerate(shape) if axis in axes and size > 1]


def axes_of_rows(shape: Shape, axes: Collection[int], target: Target) -> int:
    """How many last axes are a line of at least a slice; 0 if lines lie otherwise.

    Several are one only if the last has whole slices, since there may be gaps between its rows.
    """
    walked = several(shape, axes)
    if not walked or several(shape, range(walked[0], len(shape))) != walked:
        return 0
    count = len(shape) - walked[0]
    columns = prod(shape[-count:])
    whole = columns == shape[-1] or shape[-1] % target.lanes == 0
    return count if whole and columns >= target.lanes else 0


def merged(shape: Shape, axes: Collection[int]) -> tuple[Shape, set[int]]:
    """The shape with neighbouring axes as one that are both walked, or both not; those walked.

    >>> merged((2, 3, 5, 7), {1, 2}), merged((1, 3, 1, 7), {0, 3})
    (((2, 15, 7), {1}), ((3, 7), {1}))
    """
    sizes: list[int] = []
    walked: list[bool] = []
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        if walked and walked[-1] == (axis in axes):
            sizes[-1] *= size
        else:
            sizes.append(size)
            walked.append(axis in axes)
    return tuple(sizes), {axis for axis, along in enumerate(walked) if along}


def group_size(parts: int, target: Target) -> int:
    """The work-items that reduce `parts` parts together: a power of two, at most one per part.

    1 on processors, where a work-group runs on a single core and vectors already share the work.
    """
    return power_of_two(1 if target.on_processor else min(parts, target.device.max_group))


def slice_group_size(parts: int, target: Target) -> int:
    """The work-items of a group that reduces so many slices.

    Where they take turns to join their totals, they are so few that each adds up `A_BARRIER` times
    as many slices as there are barriers.
    """
    group_items = group_size(parts, target)
    if target.language.clears_local_memory:
        while group_items > 1 and parts < A_BARRIER * group_items * _barriers(group_items, target):
            group_items //= 2
    return group_items


def _barriers(group_items: int, target: Target) -> int:
    """How often a group waits: for each turn, and for each time that its totals are halved."""
    at_once = seats(group_items, target)
    return group_items // at_once + at_once.bit_length() - 1


def shared_by(parts: int, results: int, target: Target) -> int:
    """The work-items of a group for each of so many results of `parts` parts; 0 if groups do not
    pay."""
    return 0 if too_few_parts(parts, results, target) else group_size(parts, target)


def too_few_parts(parts: int, results: int, target: Target) -> str | None:
    """Why a work-group for each of so many results of `parts` parts does not pay; None if it does.

    Where single work-items would leave most of the device idle, a warp is enough for a group.
    """
    idle = 4 * results < target.device.work_items
    least = min(MIN_GROUP, target.device.warp) if idle else MIN_GROUP
    if target.on_processor or group_size(parts, target) < least:
        return "there is too little work for a work-group reduction"
    return None
