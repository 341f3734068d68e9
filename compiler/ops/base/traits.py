"""What rewrites and the choice of storage rely on, of operators they do not know otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...ir import Op
from .window import Window

Condition = Callable[[Op], bool]


def always(op: Op) -> bool:
    """Of every operator of its kind."""
    return True


@dataclass(frozen=True)
class Weights:
    """Where an operator that multiplies with weights has its operands, and channels in them."""

    output_axis: int
    """The axis of the weights that the output channels lie along."""
    input_axis: int | None = None
    """The axis that the input channels lie along; None where factors cannot be moved into them."""
    summed_axes: tuple[int, ...] = ()
    """The axes that are summed over; () where summands cannot be moved into the bias."""
    image: int = 0
    """The operand that is multiplied."""
    bias: int = 2


@dataclass(frozen=True)
class Permutable:
    """What changes with an operator when the axes of its operands are in another order."""

    images: tuple[int, ...] | None = (0,)
    """The operands that have the axes of the output; None for all."""
    per_axis: tuple[int, ...] = ()
    """Constant operands with an entry for each axis."""
    axes: int | None = None
    """The constant operand whose entries are axes."""
    axis: Callable[[Op], int] | None = None
    """Reads the attribute `axis`, counted from the front."""
    bits: tuple[str, ...] = ()
    """Attributes with a bit for each axis."""
    condition: Condition = always
    """Whether it can run with its axes in any order."""


@dataclass(frozen=True)
class Traits:
    """Facts about an operator besides its shapes and kernels."""

    identity: Condition | None = None
    """Whether it returns operand `passes` unchanged, if that has the shape of its output."""
    passes: int = 0
    weights: Weights | None = None
    window: Callable[[Op], Window] | None = None
    """The window with which it sees zeros around its feature map, as convolutions do."""
    permutable: Permutable | None = None
    reshapes: bool = False
    """Whether its output has the elements of its input in the same order."""
    aliases: bool = False
    """Whether it only copies, so that its tensors may lie within each other instead."""
    joins: bool = False
    """Whether its output holds values of several inputs, which have to be quantized alike."""
    cheap: bool = False
    """Whether computing it again takes less time than reading its result from memory."""


NO_TRAITS = Traits()
