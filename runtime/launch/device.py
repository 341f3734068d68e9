"""What a session needs of a device, whichever driver runs it.

`opencl.device`, `opengl.device` and `webgpu.device` implement `Device`.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, TypeVar

from ..errors import DeviceError
from ..frozen import dataclass
from ..plan.kernels import Kernel
from ..plan.records import Plan
from ..plan.running import Limits
from .callers_memory import CallersMemory
from .fit import unmet_limits

Sources = Mapping[str, str]  # The text of each kernel file, by `Kernel.file`.
Program = Any  # What the driver compiled a kernel to.
Buffer = Any  # A range of device memory.
# A submission bound to its program and buffers, ready to be enqueued any number of times.
Command = Any
_Handle = TypeVar("_Handle")


@dataclass(frozen=True)
class DeviceInfo:
    """An attached device. `str` of it is the text that `device=` is matched with."""

    name: str
    platform: str
    version: str  # Of the platform: language version and driver, such as OpenCL 3.0 PoCL 3.1.
    driver: str
    type: str  # gpu, accelerator, cpu or other.
    vendor: str
    vector_width: int  # Lanes of the device's native float vectors.
    # What kernels can have at most, and the extensions of OpenCL or features of WebGPU.
    limits: Limits
    compute_units: int  # 0 if the driver does not report it.
    unified: bool  # Whether the device uses the host's memory.
    target: str = "opencl"  # The language of the kernels it runs: opencl, glsl or wgsl.
    # Instructions of a processor that kernels may use by name, as Linux calls them.
    instructions: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.platform} ({self.version}): {self.name}"


# Iterations after which Mesa's renderer on processors ends the loops of a work-item.
MESA_LOOPS = 65535


def loop_limit(renderer: str) -> int:
    """Iterations after which a renderer ends loops; 0 if it does not."""
    return MESA_LOOPS if renderer.startswith("llvmpipe") else 0


class Range(NamedTuple):
    """A range of bytes of a buffer, as it is bound to a kernel."""

    buffer: Any
    offset: int
    size: int


class LaunchGrid(NamedTuple):
    """How a program is launched."""

    items: tuple[int, int, int]  # Work-items along each axis.
    group: tuple[int, int, int]  # Those of a work-group.
    barrier: bool  # Whether it depends on commands enqueued since the last one with a barrier.

    @property
    def groups(self) -> tuple[int, int, int]:
        """Work-groups along each axis."""
        x, y, z = (items // size for items, size in zip(self.items, self.group, strict=True))
        return x, y, z


class Marker(Protocol):
    """A point in the order of everything that a device was given to do."""

    # Whether any thread can wait for it; a context may be current on one thread only.
    any_thread: bool

    @property
    def done(self) -> bool:
        """Whether everything before it is done. DeviceError if some of it has failed."""

    def wait(self) -> None:
        """Wait until it is (DeviceError)."""

    @property
    def event(self) -> Any:
        """The marker as an object of the driver's own library."""


class Device(Protocol):
    """An opened device. Its methods raise DeviceError if a driver call fails.

    Those with a body are for drivers that cannot do more.
    """

    info: DeviceInfo
    # A block for several calls in a row, which take less time in it. Blocks may be nested.
    calls: AbstractContextManager[Any]
    # Whether `download` waits for what was started, rather than for `finish` or a marker.
    downloads_wait: bool = False
    # Whether the driver returns binaries; if not, `binary` and `restore` return None.
    has_binaries: bool = False
    # Work-groups to launch a persistent kernel with; 0 if the device runs none.
    resident_groups: int = 0

    def unsupported_reason(self, plan: Plan) -> str | None:
        """Why the device cannot run a plan; None if it can."""
        if plan.target != self.info.target:
            return f"it was compiled for {plan.target}, but this device runs {self.info.target}"
        return next(unmet_limits(plan.needs, self.info.limits), None)

    def build(self, kernels: Sequence[Kernel], options: str, sources: Sources) -> list[Program]:
        """Compile kernels from sources, by file, with options of the compiler (BuildError)."""

    def binary(self, programs: Sequence[Program]) -> bytes | None:
        """The programs as one binary; None if the driver does not return it.

        To be called after each program has run once: some drivers compile at the first launch.
        """
        return None

    def restore(
        self, kernels: Sequence[Kernel], options: str, binary: bytes
    ) -> list[Program] | None:
        """The programs of the kernels that `binary` was made from; None if it cannot be used."""
        return None

    def allocate(self, size: int) -> Buffer:
        """A buffer of at least `size` bytes for kernels to read and write, with any content."""

    def constant(self, data: memoryview) -> Buffer:
        """A buffer with this content for kernels to read. `data` must not change."""

    def adopt(
        self, memory: CallersMemory, size: int, writes: bool
    ) -> tuple[Buffer, Sequence[Command]]:
        """Memory of the caller as a buffer, of which kernels access `size` bytes.

        `writes` says that they write to it. The commands copy it on the device, before kernels read
        it or after they have written it; there are none if kernels access it directly. It is
        retained until it is freed. InputError says why it cannot be used: it is of another driver
        or context, or must not be written.
        """

    def mapped(self, buffer: Buffer, size: int) -> Any:
        """The first bytes of a buffer as an array that host and device share; None if they cannot.

        The array may be used as long as the caller likes, even after `release`.
        """
        return None

    def scope(self) -> AbstractContextManager[Callable[[], None]]:
        """A block that yields a function which frees what was allocated, adopted and bound in it.

        If the block raises, that is freed at once. `release` does not free it.
        """

    def sub_buffer(self, buffer: Buffer, offset: int, size: int) -> Buffer:
        """The part of a buffer of `size` bytes at `offset`."""

    def image(self, buffer: Buffer, offset: int, size: int, texel: int) -> Buffer:
        """That part as an image for kernels to read; a texel of four channels has `texel` bytes."""
        raise DeviceError(f"kernels in {self.info.target} cannot read images of buffers")

    def bind(self, program: Program, arguments: Sequence[Buffer], grid: LaunchGrid) -> Command:
        """The command that runs a program on these arguments over a grid of work-items."""

    def record(self, commands: Sequence[Command]) -> Sequence[Command]:
        """A single command that runs all of these, where the driver supports it; else the same.

        Recorded commands can be enqueued but not profiled.
        """
        return commands

    def upload(self, buffer: Buffer, array: Any, offset: int = 0) -> None:
        """Start copying a contiguous array to `offset` of a buffer; keep it until `finish`."""

    def fill(self, buffer: Buffer, size: int, byte: int) -> None:
        """Start setting the first `size` bytes of a buffer to one value."""

    def enqueue(self, commands: Sequence[Command]) -> None:
        """Start commands, each of which sees what those before it have written."""

    def download(self, buffer: Buffer, array: Any, offset: int = 0) -> None:
        """Start copying from `offset` of a buffer to a contiguous array, filled at `finish`."""

    def wait_for(self, events: Sequence[Any]) -> None:
        """Let what is started from now on wait for events of the caller (InputError for others)."""

    def mark(self) -> Marker:
        """A marker after everything that was started, which begins without waiting for more."""

    def finish(self) -> None:
        """Wait until everything that was started is done."""

    def profile(self, commands: Sequence[Command]) -> list[float]:
        """Run commands one at a time; the seconds each took on the device."""

    def release(self) -> None:
        """Free all memory and programs. The device cannot be used afterwards."""


def is_named(device: object, name: str) -> bool:
    """Whether a device has a name in its text, ignoring case; each has "auto"."""
    return name == "auto" or name.lower() in str(device).lower()


@dataclass(frozen=True)
class Unusable:
    """A device that does not work, or a driver that does not come as far as to list its devices."""

    name: str
    target: str  # The language of the kernels that it would run.
    reason: str  # What happened when it was tried.
    advice: str

    def __str__(self) -> str:
        return (
            f"{self.name} cannot be used: {self.reason}\n{self.advice}; `tflgpu doctor` tries it "
            "again"
        )


def matching(
    name: str,
    present: Sequence[tuple[DeviceInfo, _Handle]],
    api: str,
    advice: str,
    unusable: Sequence[Unusable] = (),
) -> list[tuple[DeviceInfo, _Handle]]:
    """The devices with `name` in their text, ignoring case; all of them for "auto".

    `present` holds each device with what opens it. DeviceError if none matches: it says why those
    that do cannot be used, or lists the devices of this API, or gives advice if there are none.
    """
    found = [pair for pair in present if is_named(pair[0], name)]
    meant = [each for each in unusable if is_named(each.name, name)]
    if found:
        return found
    if meant:
        raise DeviceError("\n".join(map(str, meant)))
    if not present:
        raise DeviceError(f"there is no {api} device; {advice}")
    listing = "".join(f"\n  {info}" for info, _ in present)
    raise DeviceError(f"no {api} device has {name!r} in its name; there are:{listing}")
