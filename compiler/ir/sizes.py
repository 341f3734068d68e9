"""The sizes of a tensor beside those it has in the file, for inputs of other shapes.

Each size is a product of factors, such as the batch and the length of its sequences, so that what a
RESHAPE joins another can take apart again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import gcd, prod
from typing import TYPE_CHECKING, NamedTuple

from .op import Op
from .tensor import Shape, Tensor

if TYPE_CHECKING:
    from .graph import Graph


class Factor(NamedTuple):
    filed: int  # What it is in the file.
    now: int

    @property
    def changed(self) -> bool:
        return self.filed != self.now


Size = tuple[Factor, ...]
Sizes = tuple[Size, ...]


def sizes_of(filed: Shape, now: Shape) -> Sizes:
    """The sizes of a tensor that has another shape in the file."""
    return tuple((Factor(*pair),) for pair in zip(filed, now, strict=True))


def in_file(size: Size) -> int:
    return prod(factor.filed for factor in size)


def by_now(size: Size) -> int:
    return prod(factor.now for factor in size)


def is_changed(size: Size) -> bool:
    return any(factor.changed for factor in size)


def is_batch(factor: Factor) -> bool:
    """Whether it is one in the file, but no longer."""
    return factor.filed == 1 != factor.now


def batches(sizes: Sizes) -> list[Factor]:
    return [factor for size in sizes for factor in size if is_batch(factor)]


def has_batch(size: Size) -> bool:
    return any(map(is_batch, size))


def is_batch_alone(size: Size) -> bool:
    return bool(size) and all(map(is_batch, size))


def regroup(sizes: Sizes, wanted: Sequence[int]) -> Sizes | None:
    """The sizes of the elements in another shape of the file; None if a change would be split."""
    left = _joined(sizes)
    grouped = []
    for size in wanted:
        group = _taken(left, size)
        if group is None:
            return None
        grouped.append(group)
    return None if left else tuple(grouped)


def _joined(sizes: Sizes) -> deque[Factor]:
    """All factors in order; those between two that have changed are one."""
    joined: deque[Factor] = deque()
    for factor in (factor for size in sizes for factor in size):
        if factor.changed:
            joined.append(factor)
        elif joined and not joined[-1].changed:
            whole = joined.pop().filed * factor.filed
            joined.append(Factor(whole, whole))
        elif factor.filed != 1:
            joined.append(factor)
    return joined


def _taken(left: deque[Factor], size: int) -> Size | None:
    """The next factors, which make a size of the file; None if there are none that do."""
    taken: list[Factor] = []
    while left:
        first = left[0]
        if size == 1 and (taken or first != Factor(1, first.now)):
            break
        if first.changed:
            if size % first.filed:
                return None
            taken.append(left.popleft())
            size //= first.filed
        else:
            common = gcd(size, first.filed)
            if common != min(size, first.filed):
                return None
            taken.append(Factor(common, common))
            size //= common
            rest = left.popleft().filed // common
            if rest > 1:
                left.appendleft(Factor(rest, rest))
    return tuple(taken) if size == 1 else None


# Changes an operator, of this graph or of a copy, such that it fits other sizes.
Fit = Callable[["Graph", Op], object]


@dataclass
class Resized:
    """What is known of a graph whose inputs have other sizes than in the file."""

    sizes: dict[Tensor, Sizes] = field(default_factory=dict)  # Of tensors that have others now.
    # How operators were fitted, in the order of execution.
    fits: list[tuple[Op, Fit]] = field(default_factory=list)
    # Whether constants along an axis that is shorter now are cut to their first entries.
    cut_tables: bool = False

    def __post_init__(self) -> None:
        sizes = (size for sizes in self.sizes.values() for size in sizes)
        self.chosen = [size for size in sizes if is_changed(size)]  # Those of the inputs.

    def known(self, tensor: Tensor) -> Sizes:
        """The sizes of a tensor, which may be those in the file."""
        return self.sizes.get(tensor) or sizes_of(tensor.shape, tensor.shape)
