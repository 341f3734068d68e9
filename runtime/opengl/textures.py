"""Copies between textures of the caller and buffers, which the device makes by itself.

As commands among the kernels: each has the method of a program that launches it.
"""

from __future__ import annotations

from typing import Any

_PIXEL_BUFFER_BARRIER = 0x80
"""GL_PIXEL_BUFFER_BARRIER_BIT."""


class TextureRead:
    """Copies all texels to a buffer, row by row."""

    def __init__(self, texture: Any, buffer: Any) -> None:
        self._texture, self._buffer = texture, buffer

    def run(self, *_: int) -> None:
        self._texture.read_into(self._buffer)


class TextureWrite:
    """Copies a buffer that kernels have written to the texels."""

    def __init__(self, texture: Any, buffer: Any) -> None:
        self._texture, self._buffer = texture, buffer

    def run(self, *_: int) -> None:
        self._texture.ctx.memory_barrier(_PIXEL_BUFFER_BARRIER)
        self._texture.write(self._buffer)
