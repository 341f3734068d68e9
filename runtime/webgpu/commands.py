"""What is recorded for the queue: dispatches, and copies of textures."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

# Of the bytes from one row of a texture to the next in a buffer. A single row has no next one.
ROW_ALIGNMENT = 256


@dataclass(frozen=True)
class Dispatch:
    pipeline: Any
    bindings: Any
    groups: tuple[int, int, int]  # Work-groups along each axis.

    def encode(self, current: Any) -> None:
        """Record it in a pass."""
        current.set_pipeline(self.pipeline)
        current.set_bind_group(0, self.bindings)
        current.dispatch_workgroups(*self.groups)


@dataclass(frozen=True)
class TextureCopy:
    """A copy of all texels of a texture, row by row, to a buffer or from it."""

    texture: Any
    buffer: Any
    row: int  # Bytes.
    writes: bool  # Whether to the texture.

    def encode(self, encoder: Any) -> None:
        """Record it between passes."""
        pitch = -(-self.row // ROW_ALIGNMENT) * ROW_ALIGNMENT
        for y in range(self.texture.height):
            texels = {"texture": self.texture, "origin": (0, y, 0)}
            memory = {"buffer": self.buffer, "offset": y * self.row, "bytes_per_row": pitch}
            size = (self.texture.width, 1, 1)
            if self.writes:
                encoder.copy_buffer_to_texture(memory, texels, size)
            else:
                encoder.copy_texture_to_buffer(texels, memory, size)


def encode(commands: Sequence[Dispatch | TextureCopy], encoder: Any, stamps: Any = None) -> None:
    """Record commands in as few passes as possible, which write their times as `stamps` says."""
    for kind, alike in groupby(commands, type):
        if kind is TextureCopy:
            for copy in alike:
                copy.encode(encoder)
            continue
        current = encoder.begin_compute_pass(timestamp_writes=stamps)
        for dispatch in alike:
            dispatch.encode(current)
        current.end()
