"""What an operator is to the compiler: a record with its shapes, its kernels and its meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ...runtime.plan.storage import device_dtype as device_dtype
from ..devices import Profile
from ..errors import ModelError
from ..ir import Array, Op, Shape, Tensor
from .tile import Tile

LINEAR = "linear"
"""Storage: row-major and dense, as the host has it."""
SLICED = "sliced"
"""Storage: channels in slices of the target's width, [batch][slice][height][width][lane]."""

FLOATS = ("float32", "float16")
"""Types that are float32 on the device."""
INTEGERS = ("int32", "int64")
"""Types whose arithmetic is that of the device's 32-bit integers."""
SMALL_INTEGERS = ("int16", "int8", "uint8", "uint16", "uint32")
"""Types that are 32-bit integers on the device, too, and that kernels move, compare and convert."""
ANY = (*FLOATS, *INTEGERS, *SMALL_INTEGERS, "bool")
"""Every type a tensor on the device may have."""


Infer = Callable[[Op], Sequence[Shape]]
"""Shapes of an operator's outputs from its inputs' shapes (and contents, where constant)."""

Reference = Callable[[Op, Sequence[Array]], Sequence[Array]]
"""The operator in numpy: from the contents of its inputs to those of its outputs."""


@dataclass(frozen=True)
class Runs:
    """How a tensor lies in memory: in runs of bytes, each of the same length, at a fixed pitch."""

    start: int
    """Where the first run starts, in bytes."""
    length: int
    pitch: int
    """Bytes from the start of one run to that of the next; the length where there is no gap."""

    @property
    def dense(self) -> bool:
        return self.pitch == self.length

    def span(self, size: int) -> int:
        """Bytes from the first to the last of a tensor of that size."""
        return size if self.dense else (size // self.length - 1) * self.pitch + self.length


@dataclass(frozen=True)
class Part:
    """A tensor whose bytes are some of another's, in the storage they both have."""

    tensor: Tensor
    whole: Tensor
    runs: Runs
    """Where they are in the other one."""


@dataclass(frozen=True)
class Launch:
    """One dispatch of one kernel template, before it is rendered.

    Roles are the names tensors have in the template. `constants` are arrays that already have
    the order the kernel reads them in; with sliced kernels their last axis is the slice width.
    """

    template: str
    grid: tuple[int, int, int]
    """Work-items that have something to do."""
    reads: Mapping[str, Tensor]
    writes: Mapping[str, Tensor]
    constants: Mapping[str, Array] = field(default_factory=dict)
    variables: Mapping[str, Any] = field(default_factory=dict)
    """What else the template may name: literals, already final."""
    group: tuple[int, int, int] | None = None
    """Work-group size the algorithm needs; None where the profile's choice is as good."""
    why: str = ""
    """Why tile and group are what they are, for people; set together with the group."""
    flatten: bool = False
    """Whether the kernel takes height and width of all its tensors as one axis."""
    part: Part | str | None = None
    """That it only copies a part of a tensor, if this is all it does, or why it must copy it."""
    heavy: bool = False
    """Whether a work-item does much, as in a convolution; groups are small then."""
    flops: int = 0

    @property
    def tile(self) -> Tile | None:
        """The tile of a convolution, by which its template knows it."""
        tile = self.variables.get("tile")
        return tile if isinstance(tile, Tile) else None


class Build(Protocol):
    def __call__(self, op: Op, profile: Profile) -> Sequence[Launch]: ...


def always(op: Op, profile: Profile) -> str | None:
    """The condition of a kernel that suits every operator of its kind."""
    return None


@dataclass(frozen=True)
class Kernel:
    """One way to run an operator; the first row whose `when` has no objection is taken."""

    name: str
    build: Build
    """The launches that compute an operator with this kernel; none if it is only a view."""
    when: Callable[[Op, Profile], str | None] = always
    """Why the kernel does not suit this operator, or None."""
    reads: str = SLICED
    writes: str = SLICED
    fuses: bool = True
    """Whether post-operators can be rendered into its store."""
    computes: str = ""
    """Storage of what post-operators read, where it is not that of what it writes."""

    @property
    def operands(self) -> str:
        """Storage of what post-operators read."""
        return self.computes or self.writes


@dataclass(frozen=True)
class OpDef:
    """An operator: how shapes follow, which kernels run it, what it means."""

    name: str
    infer: Infer
    kernels: tuple[Kernel, ...] = ()
    reference: Reference | None = None
    """For constant folding; None where folding makes no sense."""
    dtypes: tuple[str, ...] = ("float32",)
    """Types its kernels compute in."""
    note: str = ""
    """Limits worth telling users, for the operator table."""
    refusal: str = "only constants can be computed"
    """Why no kernel suits it, where it has none and rewrites have left it."""


OPS: dict[str, OpDef] = {}
"""Every operator tflgpu knows, by TFLite name. Custom operators by their custom name."""


def define(*definitions: OpDef) -> None:
    """Register operators; a name registered twice is a bug."""
    for definition in definitions:
        if definition.name in OPS:
            raise ValueError(f"operator {definition.name} is defined twice")
        OPS[definition.name] = definition


def same_as_first(op: Op) -> list[Shape]:
    """The one output has the shape of the first input."""
    return [op.operand(0).shape]


def broadcast_shapes(op: Op) -> list[Shape]:
    """The one output has the numpy broadcast of all inputs."""
    return [broadcast(op, *(tensor.shape for tensor in op.inputs if tensor is not None))]


def broadcast(op: Op, *shapes: Shape) -> Shape:
    """The numpy broadcast of shapes; ModelError if they do not go together."""
    result: list[int] = []
    for axis in range(1, max((len(shape) for shape in shapes), default=0) + 1):
        sizes = {shape[-axis] for shape in shapes if axis <= len(shape)} - {1}
        if len(sizes) > 1:
            listed = " and ".join(str(list(shape)) for shape in shapes)
            raise ModelError(f"operator {op.index} {op.name}: {listed} do not broadcast")
        result.append(sizes.pop() if sizes else 1)
    return tuple(reversed(result))


def bhwc(shape: Shape) -> tuple[int, int, int, int]:
    """A shape of rank up to 4 as (batch, height, width, channels), right-aligned with ones."""
    if len(shape) > 4:
        raise ValueError(f"rank {len(shape)} has no batch, height, width and channels")
    batch, height, width, channels = (1,) * (4 - len(shape)) + tuple(shape)
    return batch, height, width, channels


def slices(channels: int, profile: Profile) -> int:
    """How many slices hold that many channels."""
    return -(-channels // profile.slice_width)


def sliced_grid(shape: Shape, profile: Profile, flatten: bool = False) -> tuple[int, int, int]:
    """One work-item for each slice of each pixel: columns, rows, batches times slices."""
    batch, height, width, channels = bhwc(shape)
    outer = batch * slices(channels, profile)
    return (height * width, 1, outer) if flatten else (width, height, outer)


def image_launch(
    op: Op, profile: Profile, template: str, variables: Mapping[str, Any], flops: int = 0
) -> Launch:
    """A launch from one image to another, with the grid of `sliced_grid`."""
    grid = sliced_grid(op.output.shape, profile)
    reads, writes = {"x": op.operand(0)}, {"y": op.output}
    return Launch(template, grid, reads, writes, variables=variables, flops=flops)


LINEAR_ROW = 1 << 20
"""Work-items in a row of the grid of a linear kernel, so that the group count stays legal."""


def linear_grid(elements: int) -> tuple[int, int, int]:
    """One work-item for each element."""
    return (min(elements, LINEAR_ROW), -(-elements // LINEAR_ROW), 1)


def normalize_axis(op: Op, axis: int, rank: int) -> int:
    """An axis counted from the front; ModelError if it lies outside the rank."""
    if not -rank <= axis < rank:
        raise ModelError(f"operator {op.index} {op.name}: axis {axis} of a rank {rank} tensor")
    return axis % rank
