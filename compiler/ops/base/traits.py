"""Traits: facts about operators that rewrites and storage selection use instead of their names."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...ir import Op
from .window import Window

Range = tuple[int, int]  # The least and the greatest number.

# The range of an operator's results, from those of its operands by position; None stands for
# numbers that may not be whole or are not known.
RangeOf = Callable[[Op, Sequence[Range | None]], Range | None]


def hull(ranges: Sequence[Range]) -> Range:
    """The smallest range that contains others, of which there is at least one."""
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def among_operands(op: Op, ranges: Sequence[Range | None]) -> Range | None:
    """The `RangeOf` an operator whose results are elements of its float operands, or 0."""
    found = [(0, 0)]
    for tensor, known in zip(op.inputs, ranges, strict=True):
        if tensor is not None and tensor.dtype == "float32":
            if known is None or not tensor.elements:
                return None
            found.append(known)
    return hull(found)


def by_attributes(op: Op, ranges: Sequence[Range | None]) -> Range:
    """The `RangeOf` an operator that rounds, and limits its results to `low` and `high`."""
    return int(op.attrs["low"]), int(op.attrs["high"])


Condition = Callable[[Op], bool]


def always(op: Op) -> bool:
    """The `Condition` that holds for every operator of a kind."""
    return True


@dataclass(frozen=True)
class Weights:
    """The operands of an operator that multiplies by weights, and the axes of the weights."""

    output_axis: int  # The axis of the weights that output channels lie along.
    # The axis that input channels lie along; None if no factor can be folded into the weights.
    input_axis: int | None = None
    # The axes summed over; () if a summand cannot be folded into the bias.
    summed_axes: tuple[int, ...] = ()
    image: int = 0  # Position of the feature map.
    bias: int = 2  # Position of the bias.


@dataclass(frozen=True)
class Permutable:
    """How an operator changes when the axes of its operands are permuted."""

    # Positions of the operands that have the axes of the output; None for all operands.
    images: tuple[int, ...] | None = (0,)
    per_axis: tuple[int, ...] = ()  # Positions of constant operands with one entry per axis.
    # Their entries for an axis of size 1 that stays so; () if that is not known.
    unit: tuple[int, ...] = ()
    axes: int | None = None  # Position of the constant operand whose entries are axes.
    axis: Callable[[Op], int] | None = None  # Reads the attribute `axis`, counted from the front.
    bits: tuple[str, ...] = ()  # Attributes that are bit masks with one bit per axis.
    condition: Condition = always  # Whether this operator can run with its axes in any order.


@dataclass(frozen=True)
class Traits:
    """Facts about an operator besides its shapes and implementations."""

    # Whether it returns operand `passes` unchanged when that has the shape of the output.
    identity: Condition | None = None
    passes: int = 0  # Position of the operand that `identity` refers to.
    weights: Weights | None = None  # Its weights, if it multiplies by weights.
    # Its window, if it pads its feature map with zeros as convolutions do.
    window: Callable[[Op], Window] | None = None
    # How it changes with the order of axes; None if it depends on that order.
    permutable: Permutable | None = None
    reshapes: bool = False  # Whether its output holds the elements of its input in the same order.
    # Whether it computes nothing: its outputs hold elements of its inputs, or a constant.
    moves: bool = False
    # Whether it only copies, so that its tensors can be views of one another instead.
    aliases: bool = False
    # Whether its output holds values of several inputs, which must be quantized alike.
    joins: bool = False
    indexes: bool = False  # Whether a model is wrong if one of its indices is out of bounds.
    converts: bool = False  # Whether its kernel depends on the type of its output.
    # Whether recomputing it takes less time than reading its result from memory.
    cheap: bool = False
    # The range of its results where they are whole numbers; None if nothing is known of it.
    range: RangeOf | None = None


NO_TRAITS = Traits()
