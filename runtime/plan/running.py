"""What a plan says about running it: schedules, buffers, and what a device must have.

The compiler works these out once, so that no runtime has to. They are records of the plan.
"""

from enum import IntEnum

from ..frozen import dataclass
from .codec import Extent, Int32, UInt32, UInt64


class Element(IntEnum):
    """The type of a tensor's elements on the device."""

    NONE = 0  # The tensor stays on the host.
    FLOAT32 = 1
    INT32 = 2
    INT8 = 3
    UINT8 = 4


@dataclass(frozen=True)
class TensorBuffer:
    """The device buffer of an input or output, which begins with the tensor."""

    element: Element
    size: UInt64  # Bytes of the tensor, row-major; 0 if it stays on the host.
    # Bytes that kernels may access, at least `size` in whole words: every buffer of so many bytes
    # can be bound. What lies past the tensor has no meaning.
    reach: UInt64
    used: bool  # Whether kernels or parts on LiteRT access it; if not, nothing needs to be copied.


@dataclass(frozen=True)
class Submission:
    """What a runtime hands to the driver at once: a dispatch, or a persistent kernel."""

    first: UInt32  # The dispatch, or the first one that the persistent kernel computes.
    persistent: Int32  # Index into `Plan.persistent`; -1 for a dispatch.
    # Whether it depends on submissions since the last one with a barrier. A run starts with a
    # barrier of its own.
    barrier: bool


@dataclass(frozen=True)
class Schedule:
    """All submissions of a run, in order."""

    submissions: tuple[Submission, ...]
    # Indices into `Plan.kernels` of those submitted, each once. Their files, one after the other,
    # are a source of the same meaning.
    kernels: tuple[UInt32, ...]
    options: str  # Of the driver's compiler.


@dataclass(frozen=True)
class Limits:
    """What a plan needs of a device, or what a device has."""

    # Bytes. Of a plan: every offset of an argument is a multiple of it. Of a device: every offset
    # must be one.
    alignment: UInt32 = 1
    group: UInt32 = 0  # Work-items of a work-group.
    group_sizes: Extent = (0, 0, 0)  # Work-items of a work-group along each axis.
    group_counts: Extent = (0, 0, 0)  # Work-groups of a launch along each axis.
    local_memory: UInt32 = 0  # Bytes that a work-group shares.
    arguments: UInt32 = 0  # Buffers of a kernel.
    argument_size: UInt64 = 0  # Bytes of an argument.
    buffer_size: UInt64 = 0  # Bytes of a buffer.
    image_texels: UInt64 = 0  # Texels of an image of a buffer.
    extensions: tuple[str, ...] = ()  # Of OpenCL; of Vulkan in plans for other runtimes.
    # Rounds of the loops of a work-item. Of a device: after which it ends them, or 0.
    iterations: UInt32 = 0


NOTHING = Limits()  # What every device has.
