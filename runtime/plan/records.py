"""What a compiled model is: kernels, the order to dispatch them in, and where every byte lies.

These records are what `compiler` fills in and what the runtime executes; `plan.fbs` is their
serialized form. Sizes and offsets are in bytes, grids in work-items.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated

UInt8 = Annotated[int, "uint8"]
Int32 = Annotated[int, "int32"]
UInt32 = Annotated[int, "uint32"]
Int64 = Annotated[int, "int64"]
UInt64 = Annotated[int, "uint64"]
Extent = tuple[UInt32, UInt32, UInt32]
"""Along x, y and z."""


class Region(IntEnum):
    """Which memory an argument lies in."""

    ARENA = 0
    """The one buffer all intermediate tensors share."""
    WEIGHTS = 1
    """The contents of weights.bin, uploaded once."""
    INPUT = 2
    """The buffer of the model input `index`."""
    OUTPUT = 3
    """The buffer of the model output `index`."""
    STATE = 4
    """The buffer of the variable `index`, which keeps its content between runs."""


@dataclass(frozen=True)
class TensorInfo:
    """One input or output of a model, as the application sees it."""

    name: str
    shape: tuple[UInt32, ...]
    dtype: str
    """A numpy dtype name, such as float32, or string: an array of `bytes` objects."""
    scale: float = 0.0
    """Quantization step; 0 for a tensor that is not quantized."""
    zero_point: Int64 = 0
    open: bool = False
    """Whether only a run tells the shape of this output; `shape` is then what the file says."""


@dataclass(frozen=True)
class Argument:
    """One buffer argument of a dispatch: `size` bytes at `offset` of a region."""

    region: Region
    index: UInt32
    """Which input or output; 0 for the arena and the weights."""
    offset: UInt64
    size: UInt64
    writes: bool
    """Whether the kernel writes here; it reads otherwise."""
    texel: UInt8 = 0
    """Bytes of a texel of four lanes if the kernel reads an image of it; 0 for a buffer."""


@dataclass(frozen=True)
class Variable:
    """What keeps its content between runs, and starts with zeros unless `content` is given."""

    name: str
    size: UInt64
    content: UInt64 | None = None
    """Where in the weights its first content lies."""


@dataclass(frozen=True)
class Kernel:
    """One source file with one entry point."""

    name: str
    """The entry point's name."""
    file: str
    """Path below the plan's folder, such as kernels/003_conv_2d.cl."""
    sha256: bytes
    group: Extent
    """Work-group size."""
    sub_group: UInt32 = 0
    """Work-items of the sub-groups it relies on; 0 for none."""


@dataclass(frozen=True)
class Companion:
    """A file made from a kernel's source for other tools, such as its SPIR-V."""

    file: str
    """Path below the plan's folder, such as kernels/003_conv.spv."""
    sha256: bytes


@dataclass(frozen=True)
class Dispatch:
    """One launch of a kernel."""

    kernel: UInt32
    """Index into `Plan.kernels`."""
    grid: Extent
    """Work-items in each dimension, multiples of the kernel's group."""
    arguments: tuple[Argument, ...]
    """In the order of the kernel's parameters."""
    label: str
    """The operators it computes and the tensor it produces, for people."""
    operators: tuple[Int32, ...]
    """Positions in the model file of the operators it computes."""
    flops: UInt64
    """Arithmetic operations, a multiply-add counting two."""
    why: str = ""
    """Why its grid and group are what they are, for people."""


@dataclass(frozen=True)
class Persistent:
    """Consecutive dispatches in one launch, for devices on which a launch costs much.

    The work-groups of its kernel stay until the last dispatch is done: they take shares of one
    dispatch after another, and wait for each other between them.
    """

    kernel: UInt32
    """Index into `Plan.kernels`; a work-group of it is one work-item."""
    first: UInt32
    """The first dispatch it computes."""
    count: UInt32
    """How many it computes."""
    counters: UInt32
    """Bytes of the kernel's first buffer, by which the groups agree; 0 between launches."""
    arguments: tuple[Argument, ...]
    """In the order of the kernel's other parameters."""

    @property
    def end(self) -> int:
        """The dispatch after the last one it computes."""
        return self.first + self.count


@dataclass(frozen=True)
class HostTensor:
    """A tensor that parts on LiteRT read or write, an array of the host while the model runs."""

    name: str
    shape: tuple[UInt32, ...]
    dtype: str
    input: Int32 = -1
    """The model's input whose array it is; -1 if it is none."""
    output: Int32 = -1
    """The model's output whose array it is; -1 if it is none."""
    place: Argument | None = None
    """Where the device has it: it is copied there once a part has written it (`writes`), or from
    there before a part reads it. None if only the host needs it."""
    open: bool = False
    """Whether only a run tells its shape."""


@dataclass(frozen=True)
class HostPart:
    """A part of the model that runs on LiteRT between two dispatches."""

    file: str
    """Path below the plan's folder, such as fallback/0.tflite."""
    sha256: bytes
    before: UInt32
    """The dispatch before which it runs; their number if it runs behind all of them."""
    inputs: tuple[UInt32, ...]
    """Indices into `Plan.host_tensors`, in the order of the file's inputs."""
    outputs: tuple[UInt32, ...]
    label: str
    """The operators it computes, for people."""
    operators: tuple[Int32, ...]
    """Positions in the model file of the operators it computes."""


@dataclass(frozen=True)
class PlacedTensor:
    """Where and how a tensor lies in memory, for `inspect` and for debugging reads."""

    name: str
    shape: tuple[UInt32, ...]
    dtype: str
    lanes: UInt32
    """Slice width of channel-sliced storage; 0 for linear (row-major, dense) storage."""
    region: Region
    index: UInt32
    offset: UInt64
    size: UInt64
    first: Int32
    """The dispatch that writes it; -1 for an input."""
    last: Int32
    """The last dispatch that reads it; the number of dispatches for an output."""
    half: bool = False
    """Whether its slices are stored in half precision."""


@dataclass(frozen=True)
class Memory:
    """Bytes of intermediate tensors: without sharing, as planned, and the least possible."""

    naive: UInt64
    planned: UInt64
    lower_bound: UInt64


@dataclass(frozen=True)
class Plan:
    """A compiled model."""

    compiler: str
    """Version of the compiler that wrote it."""
    target: str
    """opencl or glsl; vulkan and metal are for other runtimes than this one."""
    precision: str
    profile: str
    """Name of the device profile it was compiled for."""
    model: str
    """The model file's name, for people."""
    fingerprint: str
    """Hex digest of the model's content."""
    options: str
    """The options that shaped it, as JSON, for people."""
    passes: str
    """The rewrites applied and declined, as JSON, for people."""
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    arena_size: UInt64
    weights_size: UInt64
    weights_sha256: bytes
    kernels: tuple[Kernel, ...]
    dispatches: tuple[Dispatch, ...]
    tensors: tuple[PlacedTensor, ...]
    memory: Memory
    companions: tuple[Companion, ...] = ()
    variables: tuple[Variable, ...] = ()
    host_tensors: tuple[HostTensor, ...] = ()
    parts: tuple[HostPart, ...] = ()
    """In the order in which they run."""
    persistent: tuple[Persistent, ...] = ()
    """In the order of their dispatches, which a device may also launch one by one."""

    @property
    def launches(self) -> int:
        """Launches of a run on a device that persistent kernels suit."""
        return len(self.dispatches) - sum(record.count - 1 for record in self.persistent)
