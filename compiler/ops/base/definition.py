"""What an operator is to the compiler: a record with its shapes, its kernels and its meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...ir import Array, Op, Shape
from ...target import Target
from .launch import Launch
from .storage import SLICED
from .tile import TileShape
from .traits import NO_TRAITS, Traits, Weights
from .window import Window

Infer = Callable[[Op], Sequence[Shape]]
"""Shapes of an operator's outputs from its inputs' shapes (and contents, where constant)."""

Reference = Callable[[Op, Sequence[Array]], Sequence[Array]]
"""The operator in numpy: from the contents of its inputs to those of its outputs."""

Reason = Callable[[Op, Target], str | None]
"""Why something is impossible for an operator on a target; None if it is possible."""


Build = Callable[[Op, Target], Sequence[Launch]]
"""The launches that compute an operator; none if its result is only a view."""

TiledBuild = Callable[[Op, Target, TileShape | None], Sequence[Launch]]
"""The same where a work-item computes a tile, of that shape if one is given and fits."""


def no_reason(op: Op, target: Target) -> str | None:
    """Of an implementation that can compute every operator of its kind."""
    return None


@dataclass(frozen=True)
class Implementation:
    """One way to compute an operator: when it can, in which storage, and what it launches."""

    name: str
    build: Build
    unsupported_reason: Reason = no_reason
    """Why it cannot compute this operator on this target, or None."""
    reads: str = SLICED
    writes: str = SLICED
    fuses: bool = True
    """Whether an epilogue can be rendered into its store."""
    is_view: bool = False
    """Whether it launches nothing, since the output is the memory of the input."""
    computes: str = ""
    """Storage of what the epilogue reads, where it is not that of what it writes."""

    @property
    def operands(self) -> str:
        """Storage of what the epilogue reads."""
        return self.computes or self.writes

    def launches(self, op: Op, target: Target, tile: TileShape | None = None) -> Sequence[Launch]:
        """What computes an operator, with a tile of that shape where it has one and it fits."""
        return self.build(op, target)


@dataclass(frozen=True)
class TiledImplementation(Implementation):
    """An implementation whose work-items compute tiles of the output."""

    build: TiledBuild  # type: ignore[assignment]

    def launches(self, op: Op, target: Target, tile: TileShape | None = None) -> Sequence[Launch]:
        return self.build(op, target, tile)


@dataclass(frozen=True)
class OpDef:
    """An operator: how its shapes follow, how it can be computed, what it means."""

    name: str
    infer: Infer
    implementations: tuple[Implementation, ...] = ()
    """In order of preference where several can compute an operator in the same storage."""
    reference: Reference | None = None
    """For constant folding; None where folding makes no sense."""
    dtypes: tuple[str, ...] = ("float32",)
    """Types its kernels compute in."""
    note: str = ""
    """Limits worth telling users, for the operator table."""
    refusal: str = "only constants can be computed"
    """Why it cannot run, where it has no implementation and rewrites have left it."""
    reads_shapes_only: bool = False
    """Whether its results follow from the shape of its input."""
    versions: int = 1
    """The newest version that is known. Each adds a type, an option or an operand to the last."""
    traits: Traits = NO_TRAITS


OPS: dict[str, OpDef] = {}
"""Every operator tflgpu knows, by TFLite name. Custom operators by their custom name."""


def window_of(op: Op) -> Window | None:
    """The window of an operator that sees zeros around its feature map; None if it has none."""
    traits = OPS[op.name].traits if op.name in OPS else NO_TRAITS
    return None if traits.window is None else traits.window(op)


def weights_of(op: Op) -> Weights | None:
    """Where an operator that multiplies with weights has them; None if it is none."""
    return OPS[op.name].traits.weights if op.name in OPS else None


def define(*definitions: OpDef) -> None:
    """Register operators; a name registered twice is a bug."""
    for definition in definitions:
        if definition.name in OPS:
            raise ValueError(f"operator {definition.name} is defined twice")
        OPS[definition.name] = definition
