"""The plan: a compiled model's kernels, the order of its dispatches, and where its data lies.

The compiler fills in these records and the runtime executes them. `codec` serializes them as their
types and the order of their fields say; docs/plan.fbs is generated from them, for other programs.
Fields are added at the end of a record; any other change raises the format version. Sizes and
offsets are in bytes, grids and groups in work-items.
"""

from enum import IntEnum

from ..frozen import dataclass
from .codec import Digest, Extent, Int32, Int64, UInt8, UInt32, UInt64
from .kernels import Companion, Kernel
from .running import NOTHING, Limits, Schedule, Submission, TensorBuffer


class Region(IntEnum):
    """The kind of buffer that an argument or tensor lies in."""

    ARENA = 0  # The one buffer that all intermediate tensors share.
    WEIGHTS = 1  # The content of weights.bin.
    INPUT = 2  # The buffer of the model input `index`.
    OUTPUT = 3  # The buffer of the model output `index`.
    STATE = 4  # The buffer of the variable `index`, which keeps its content between runs.


@dataclass(frozen=True)
class TensorInfo:
    """An input or output of a model, as the application sees it."""

    name: str
    # Sizes in the order of the model file: usually [batch, height, width, channels] (NHWC).
    shape: tuple[UInt32, ...]
    # The name of a numpy dtype, such as float32; or string, for an array of `bytes` objects.
    dtype: str
    # Quantization: real value = scale * (stored value - zero_point). 0 if not quantized.
    scale: float = 0.0
    zero_point: Int64 = 0
    # Whether only a run determines the shape of this output; `shape` is then the model file's.
    dynamic: bool = False


@dataclass(frozen=True)
class Argument:
    """A buffer argument of a dispatch: `size` bytes at `offset` of a region."""

    region: Region
    index: UInt32  # The number of the input, output or variable; 0 for the arena and the weights.
    offset: UInt64
    size: UInt64
    writes: bool  # Whether the kernel writes it rather than reads it.
    # If the kernel reads it as an image, the size of a texel of four channels; otherwise 0.
    texel: UInt8 = 0
    # Whether it is the whole buffer of its region, or empty: drivers make no empty parts of a
    # buffer, and a kernel never reads an empty argument.
    whole: bool = False
    # Whether another argument of the same dispatch writes to the same buffer.
    beside_writes: bool = False


@dataclass(frozen=True)
class Variable:
    """A tensor that keeps its content between runs."""

    name: str
    size: UInt64
    # The offset of its initial content in the weights; None if it starts with zeros.
    content: UInt64 | None = None
    reach: UInt64 = 0  # Bytes of its buffer that kernels may access, at least `size`.


@dataclass(frozen=True)
class Dispatch:
    """One kernel over one grid."""

    kernel: UInt32  # Index into `Plan.kernels`.
    grid: Extent  # Work-items along each axis, a multiple of the kernel's group.
    arguments: tuple[Argument, ...]  # In the order of the kernel's parameters.
    label: str  # The operators it computes and the tensor it produces, for display.
    operators: tuple[Int32, ...]  # Indices in the model file of the operators it computes.
    flops: UInt64  # Arithmetic operations; a multiply-add counts as two.
    why: str = ""  # The reasons for its grid and group, for display.
    seal: UInt64 = 0  # Digest of its kernel, grid and arguments; see `seal`.


@dataclass(frozen=True)
class Persistent:
    """A persistent kernel: one launch that computes several consecutive dispatches.

    Used on devices where launches are expensive. The kernel's work-groups stay resident until the
    last dispatch is done; they divide the work of each dispatch among themselves and synchronize
    before the next.
    """

    kernel: UInt32  # Index into `Plan.kernels`; its work-groups have one work-item.
    first: UInt32  # The first dispatch it computes.
    count: UInt32  # The number of dispatches it computes.
    # Size of the kernel's first buffer, with which the work-groups synchronize; it holds zeros
    # between launches.
    counters: UInt32
    arguments: tuple[Argument, ...]  # In the order of the kernel's other parameters.
    seal: UInt64 = 0  # Digest of its kernel, its arguments and the dispatches it computes.

    @property
    def end(self) -> int:
        """The dispatch after the last one it computes."""
        return self.first + self.count


@dataclass(frozen=True)
class HostTensor:
    """A tensor that parts on LiteRT read or write: an array in host memory during a run."""

    name: str
    shape: tuple[UInt32, ...]
    dtype: str
    input: Int32 = -1  # The model input it is; -1 if none.
    output: Int32 = -1  # The model output it is; -1 if none.
    # Where it lies on the device. With `writes`, it is copied there after the part that writes it;
    # otherwise it is copied from there before the first part that reads it. None if only the host
    # uses it.
    place: Argument | None = None
    dynamic: bool = False  # Whether only a run determines its shape.


@dataclass(frozen=True)
class HostPart:
    """A part of the model that runs on the host between two dispatches, on LiteRT or in Python."""

    file: str  # Path in the plan's folder, such as fallback/0.tflite.
    sha256: Digest  # Digest of the file.
    # The dispatch before which it runs; the number of dispatches if it runs after all of them.
    before: UInt32
    # Indices into `Plan.host_tensors`, in the order of the file's inputs.
    inputs: tuple[UInt32, ...]
    # Indices into `Plan.host_tensors`, in the order of the file's outputs.
    outputs: tuple[UInt32, ...]
    label: str  # The operators it computes, for display.
    operators: tuple[Int32, ...]  # Indices in the model file of the operators it computes.
    # The operator that a function of the application computes; empty for a part on LiteRT.
    function: str = ""


@dataclass(frozen=True)
class IndexCheck:
    """Indices that a dispatch reads, and what they must stay below.

    A run with `check` looks at them before it starts the dispatch.
    """

    dispatch: UInt32  # The dispatch that reads them.
    operator: str  # The operator's position in the model file and its name, such as 3 GATHER.
    tensor: str
    shape: tuple[UInt32, ...]
    place: Argument  # Where they lie on the device, as int32.
    length: UInt64  # Bytes of each contiguous run of them.
    pitch: UInt64  # Bytes from the start of one run to the start of the next.
    # What the entries of the last axis must stay below; one limit holds for every entry.
    limits: tuple[UInt32, ...]


@dataclass(frozen=True)
class PlacedTensor:
    """Where and how a tensor is stored, for inspecting and debugging."""

    name: str
    shape: tuple[UInt32, ...]
    dtype: str
    lanes: UInt32  # Channels per slice if it is stored in slices; 0 if row-major and contiguous.
    region: Region
    index: UInt32  # The number of the input, output or variable; 0 for the arena and the weights.
    offset: UInt64
    size: UInt64
    first: Int32  # The dispatch that writes it; -1 for an input.
    last: Int32  # The last dispatch that reads it; the number of dispatches for an output.
    # What its elements are stored as where its dtype does not say: float16 or an integer.
    stored: str = ""
    base: Int32 = 0  # The number that a stored 0 stands for, if it is stored as an integer.


@dataclass(frozen=True)
class Memory:
    """Bytes of all intermediate tensors."""

    naive: UInt64  # If each had memory of its own.
    planned: UInt64  # As planned.
    lower_bound: UInt64  # No plan can need less.


@dataclass(frozen=True)
class Specialization:
    """The model for another signature or other shapes of its inputs: a plan of its own on the
    same weights."""

    # Path in the plan's folder, such as choices/1, with the plan, its kernels and its parts.
    folder: str
    sha256: Digest  # Digest of its plan's file.
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    signature: str = ""  # As in `Plan`.


@dataclass(frozen=True)
class Plan:
    """A compiled model for one signature and one choice of its input shapes."""

    compiler: str  # Version of the compiler.
    target: str  # opencl or glsl; vulkan, metal and wgsl are for other runtimes.
    precision: str  # f32 or f16.
    profile: str  # Name of the device profile it was compiled for.
    model: str  # The model file's name, for display.
    fingerprint: str  # Hex SHA-256 digest of the model file.
    options: str  # The compiler options that affected it, as JSON, for display.
    passes: str  # The rewrites that were applied and declined, as JSON, for display.
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    arena_size: UInt64
    weights_size: UInt64
    weights_sha256: Digest  # Digest of weights.bin.
    kernels: tuple[Kernel, ...]
    dispatches: tuple[Dispatch, ...]
    tensors: tuple[PlacedTensor, ...]
    memory: Memory
    companions: tuple[Companion, ...] = ()
    variables: tuple[Variable, ...] = ()
    host_tensors: tuple[HostTensor, ...] = ()
    parts: tuple[HostPart, ...] = ()  # In the order in which they run.
    # In the order of their dispatches, which a device may also run one by one.
    persistent: tuple[Persistent, ...] = ()
    index_checks: tuple[IndexCheck, ...] = ()  # In the order of their dispatches.
    input_buffers: tuple[TensorBuffer, ...] = ()
    output_buffers: tuple[TensorBuffer, ...] = ()
    # A submission for each dispatch; then, if there are persistent kernels, the schedule for
    # devices that run them.
    schedules: tuple[Schedule, ...] = ()
    needs: Limits = NOTHING  # What a device must have.
    obstacles: tuple[str, ...] = ()  # Why it cannot run without Python; empty if it can.
    # What the model file says of its inputs and outputs for people, as JSON: the scaling of pixels
    # and names of classes; empty if it says nothing.
    metadata: str = ""
    # Indices of the kernels whose files were changed by hand, in ascending order.
    edits: tuple[UInt32, ...] = ()
    # For the other signatures and choices of input shapes; those have none.
    specializations: tuple[Specialization, ...] = ()
    # The key of the model's signature; empty for the first subgraph under its own names.
    signature: str = ""

    @property
    def launches(self) -> int:
        """Launches per run on a device that runs persistent kernels."""
        return len(self.schedules[-1].submissions)

    def schedule(self, resident_groups: int) -> Schedule:
        """For a device that runs persistent kernels with so many work-groups, 0 if it does not."""
        return self.schedules[-1 if resident_groups else 0]

    def launched(self, submission: Submission) -> Dispatch | Persistent:
        """What a submission launches."""
        number = submission.persistent
        return self.dispatches[submission.first] if number < 0 else self.persistent[number]
