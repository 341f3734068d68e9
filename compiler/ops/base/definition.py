"""The definition of an operator: shape inference, implementations, numpy reference and traits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec

import numpy as np

from ...errors import ModelError
from ...ir import Array, Op, Shape
from ...target import Target
from .launch import Launch
from .operands import declare
from .storage import LINEAR, SLICED
from .tile import TileShape
from .traits import NO_TRAITS, Traits, Weights
from .window import Window

# An operator's output shapes, from its inputs' shapes and constant contents (ModelError).
Infer = Callable[[Op], Sequence[Shape]]

# The operator in numpy, of the contents of its inputs: that of its output, or a list or tuple of
# those of its outputs.
Reference = Callable[..., Any]

# Why something is impossible for an operator on a target; None if it is possible.
Reason = Callable[[Op, Target], str | None]

# The launches that compute an operator; empty if the result is a view of the input.
Build = Callable[[Op, Target], Launch | Sequence[Launch]]

# The launches of kernels that compute tiles; a given tile shape is used if it fits.
TiledBuild = Callable[[Op, Target, TileShape | None], Launch | Sequence[Launch]]


def no_reason(op: Op, target: Target) -> str | None:
    """The `Reason` of an implementation that supports every operator of its kind."""
    return None


# The attribute that names the activation of an operator's result.
FUSED_ACTIVATION = "fused_activation_function"


@dataclass(frozen=True)
class Implementation:
    """One way to compute an operator: its preconditions, storages and launches."""

    name: str
    build: Build
    # Why it cannot compute this operator on this target; None if it can.
    unsupported_reason: Reason = no_reason
    reads: str = SLICED  # Storage of the tensors the core reads.
    writes: str = SLICED  # Storage of the result.
    fuses: bool = True  # Whether its store can run an epilogue.
    # Whether it launches nothing because the output shares the input's memory.
    is_view: bool = False
    # Whether the output shares the first input's memory, some of which it writes.
    updates: bool = False
    computes: str = ""  # Storage of the epilogue's operands, if it differs from `writes`.
    # Whether it can multiply and add in half precision; epilogues compute in single.
    half_arithmetic: bool = False
    # What is added to its results, which are then stored as integers; None to store floats.
    zero_point: int | None = None

    @property
    def operands(self) -> str:
        """Storage of the epilogue's operands."""
        return self.computes or self.writes

    def launches(self, op: Op, target: Target, tile: TileShape | None = None) -> Sequence[Launch]:
        """The launches that compute an operator; `tile` is ignored by kernels without tiles."""
        return _listed(self.build(op, target))


def row_major(
    name: str, build: Build, unsupported_reason: Reason = no_reason, **others: Any
) -> Implementation:
    """An implementation that reads and writes row-major tensors."""
    return Implementation(name, build, unsupported_reason, reads=LINEAR, writes=LINEAR, **others)


@dataclass(frozen=True)
class TiledImplementation(Implementation):
    """An implementation whose work-items each compute a tile of the output."""

    build: TiledBuild  # type: ignore[assignment]

    def launches(self, op: Op, target: Target, tile: TileShape | None = None) -> Sequence[Launch]:
        return _listed(self.build(op, target, tile))


def _listed(built: Launch | Sequence[Launch]) -> Sequence[Launch]:
    return [built] if isinstance(built, Launch) else built


@dataclass(frozen=True)
class OpDef:
    """An operator: its operands, shape inference, implementations, reference and traits."""

    # Its name, and the operands and results of one that models have, as in `operands.py`.
    signature: str
    infer: Infer
    # Best first among those that support an operator in the same storage.
    implementations: tuple[Implementation, ...] = ()
    # Used for constant folding; None if the operator is never folded.
    reference: Reference | None = None
    dtypes: tuple[str, ...] = ("float32",)  # Element types its tensors may have.
    note: str = ""  # Limits that the operator table shows to users.
    # Why an operator without implementations cannot run if no rewrite has replaced it.
    unimplemented_reason: str = "it has no kernel and can only be computed from constants"
    reads_shapes_only: bool = False  # Whether its results depend only on the shape of its input.
    # The newest supported version; each version adds a type, an option or an operand.
    versions: int = 1
    traits: Traits = NO_TRAITS

    @property
    def name(self) -> str:
        return self.signature.partition(" ")[0]

    def compute(self, op: Op, arrays: Sequence[Array]) -> list[Array]:
        """The outputs by the reference, which there must be, and the operator's activation.

        Without warnings of NaN or overflow. `op` has the shapes and dtypes of its outputs.
        """
        assert self.reference is not None
        with np.errstate(all="ignore"):
            found = self.reference(op, *arrays)
            found = found if isinstance(found, list | tuple) else [found]
            pairs = zip(op.outputs, found, strict=True)
            results = [np.asarray(result, t.dtype).reshape(t.shape) for t, result in pairs]
        activation = activation_of(op)
        if activation is None:
            return results
        last = Op(activation, op.outputs[:1], op.outputs[:1])
        return [*OPS[activation].compute(last, results[:1]), *results[1:]]


# Every operator tflgpu knows, by TFLite name; custom operators by their custom code.
OPS: dict[str, OpDef] = {}


def activation_of(op: Op) -> str | None:
    """The operator fused as an activation; None without one (ModelError if it is unknown)."""
    name = op.attrs.get(FUSED_ACTIVATION, "NONE")
    if name == "NONE":
        return None
    if name not in OPS:
        raise ModelError(f"operator {op!r} has the unknown activation {name!r}")
    return str(name)


def traits_of(name: str) -> Traits:
    """The traits of an operator; none for one that tflgpu does not know."""
    return OPS[name].traits if name in OPS else NO_TRAITS


def window_of(op: Op) -> Window | None:
    """The window of an operator that pads its feature map with zeros; None for other operators."""
    window = traits_of(op.name).window
    return None if window is None else window(op)


def weights_of(op: Op) -> Weights | None:
    """The weight layout of an operator that multiplies by weights; None for other operators."""
    return traits_of(op.name).weights


P = ParamSpec("P")


def _registering(make: Callable[P, OpDef]) -> Callable[P, None]:
    def define(*args: P.args, **fields: P.kwargs) -> None:
        definition = make(*args, **fields)
        declare(definition.signature)
        OPS[definition.name] = definition

    return define


# Registers the operator with the fields of an `OpDef`; ValueError if its name is registered.
define = _registering(OpDef)
