"""What a session needs of a device, without knowing any driver's interface.

`opencl.py` and `opengl.py` are the two kinds there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..plan.records import Kernel, Plan

Program = Any
"""A kernel the device has compiled."""
Buffer = Any
"""A piece of device memory."""
Launch = Any
"""A kernel with its arguments and grid, ready to be dispatched any number of times."""


@dataclass(frozen=True)
class DeviceInfo:
    """What an attached device says of itself. Its text is what `device=` is matched with."""

    name: str
    platform: str
    version: str
    """Of the platform: language version and driver, such as OpenCL 3.0 PoCL 3.1."""
    driver: str
    """Version of the driver."""
    type: str
    """gpu, accelerator, cpu or other."""
    vendor: str
    vector_width: int
    """Float lanes of the device's native vectors."""
    alignment: int
    """Bytes an argument's offset in its buffer must be a multiple of."""
    max_group: int
    """Work-items a work-group may have."""
    max_group_sizes: tuple[int, ...]
    """Work-items a work-group may have in each dimension."""
    max_allocation: int
    """Bytes a buffer may have."""
    local_memory: int
    """Bytes of memory shared by a work-group."""
    compute_units: int
    """0 where the driver does not say."""
    unified: bool
    """Whether the device works on the host's own memory."""
    target: str = "opencl"
    """Language of the kernels it runs."""
    extensions: tuple[str, ...] = ()
    """What an OpenCL driver has beyond the standard; none are listed of OpenGL's."""
    image_texels: int = 0
    """Texels an image of a buffer may have; 0 where kernels read no images."""

    def __str__(self) -> str:
        return f"{self.platform} ({self.version}): {self.name}"


class Device(Protocol):
    """An opened device. Its methods raise DeviceError for whatever the driver refuses."""

    info: DeviceInfo
    has_binaries: bool
    """Whether it tells what kernels were compiled to; `binary` and `restore` are in vain if not."""
    resident_groups: int
    """Work-groups that a persistent kernel should have; 0 if the device runs none."""

    @property
    def build_options(self) -> str:
        """How it compiles kernels; what it compiled with others is of no use to it."""

    def objection(self, plan: Plan) -> str | None:
        """Why the device cannot run a plan; None if it can."""

    def build(
        self, plan: Plan, kernels: Sequence[Kernel], sources: Mapping[str, str]
    ) -> list[Program]:
        """Compile some of the plan's kernels, in their order (BuildError)."""

    def binary(self, programs: Sequence[Program]) -> bytes | None:
        """What programs were compiled to; None if the driver does not tell.

        To be called after each of them has run, since some drivers compile at the first launch.
        """

    def restore(self, plan: Plan, kernels: Sequence[Kernel], binary: bytes) -> list[Program] | None:
        """The programs of kernels of which `binary` was made; None if it cannot be used."""

    def allocate(self, size: int) -> Buffer:
        """Memory of at least `size` bytes that kernels read and write; its content is undefined."""

    def constant(self, data: memoryview) -> Buffer:
        """Memory that holds `data`, which kernels only read; `data` must stay as it is."""

    def part(self, buffer: Buffer, offset: int, size: int) -> Buffer:
        """A view of `size` bytes of a buffer."""

    def image(self, buffer: Buffer, offset: int, size: int, texel: int) -> Buffer:
        """An image, for kernels to read, of the texels of four lanes at `offset` of a buffer."""

    def prepare(
        self,
        program: Program,
        arguments: Sequence[Buffer],
        grid: tuple[int, int, int],
        group: tuple[int, int, int],
        barrier: bool,
    ) -> Launch:
        """Bind a kernel to its arguments and grid.

        `barrier` says that it depends on launches since the last one that said so.
        """

    def record(self, launches: Sequence[Launch]) -> Sequence[Launch]:
        """The same launches for `dispatch`, as one where the driver can keep them; not to be
        profiled."""

    def upload(self, buffer: Buffer, array: Any, offset: int = 0) -> None:
        """Start copying a dense array to `offset` of a buffer; it must live until `finish`."""

    def fill(self, buffer: Buffer, size: int, byte: int) -> None:
        """Start setting the first `size` bytes of a buffer to one value."""

    def dispatch(self, launches: Sequence[Launch]) -> None:
        """Start launches, each of which sees what those before it wrote."""

    def download(self, buffer: Buffer, array: Any, offset: int = 0) -> None:
        """Start copying from `offset` of a buffer to a dense array, complete after `finish`."""

    def finish(self) -> None:
        """Wait until everything started is done."""

    def profile(self, launches: Sequence[Launch]) -> list[float]:
        """Run launches one by one; the seconds each took on the device."""

    def release(self) -> None:
        """Give all memory and programs back. The device cannot be used any more."""


def misaligned(plan: Plan, alignment: int) -> str | None:
    """The first argument at an offset that a device with this alignment does not allow."""
    for index, dispatch in enumerate(plan.dispatches):
        for argument in dispatch.arguments:
            if argument.offset % alignment:
                return (
                    f"dispatch {index} ({dispatch.label}) has an argument at byte "
                    f"{argument.offset}, this device needs multiples of {alignment}"
                )
    return None
