"""What a plan says about its kernels. They are records of the plan."""

from ..frozen import dataclass
from .codec import Digest, Extent, UInt32


@dataclass(frozen=True)
class Body:
    """The statements of a kernel in a file: everything between its signature and its closing
    brace; in WGSL, everything but the comment at the top."""

    kernel: UInt32  # Index into `Plan.kernels`.
    start: UInt32  # Its first byte in the file.
    size: UInt32  # Bytes.

    def within(self, content: bytes) -> bytes:
        """The statements, of the file's content."""
        return content[self.start : self.start + self.size]


@dataclass(frozen=True)
class Kernel:
    """One source file with one entry point."""

    name: str  # The entry point; in GLSL and WGSL, where that is main, a name for people.
    file: str  # Path in the plan's folder, such as kernels/003_conv_2d.cl.
    sha256: Digest  # Digest of the file.
    group: Extent  # Work-group size.
    parameters: UInt32  # Buffers that it takes.
    shared_memory: UInt32 = 0  # Bytes that the work-items of a group share.
    # What a device must have for its arithmetic, under the names that drivers give it.
    extensions: tuple[str, ...] = ()
    # Its own body in its file; of a persistent kernel, the bodies of those that it computes. Empty
    # for a file that was translated.
    bodies: tuple[Body, ...] = ()
    # Most rounds of all loops of a work-item together; 0 for a persistent kernel.
    iterations: UInt32 = 0


@dataclass(frozen=True)
class Companion:
    """A file made from a kernel's source for other tools, such as its SPIR-V."""

    file: str  # Path in the plan's folder, such as kernels/003_conv.spv.
    sha256: Digest  # Digest of the file.
