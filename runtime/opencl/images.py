"""Copies between images of the caller and buffers, which the device makes by itself."""

from __future__ import annotations

from ctypes import c_size_t, c_void_p
from typing import Any

from ..launch.callers_memory import CallersMemory
from .functions import functions_of
from .library import sizes


def image_copy(queue: int, memory: CallersMemory, buffer: int, writes: bool) -> tuple[Any, ...]:
    """The command that copies an image to a buffer; with `writes` the buffer to the image."""
    height, width, _ = memory.shape
    image, place = c_void_p(memory.handle), (sizes(0, 0, 0), sizes(width, height, 1))
    content, start = c_void_p(buffer), c_size_t(0)
    if writes:
        name, ends = "clEnqueueCopyBufferToImage", (content, image, start, *place)
    else:
        name, ends = "clEnqueueCopyImageToBuffer", (image, content, *place, start)
    return (functions_of(queue).untyped(name), c_void_p(queue), *ends, 0, None, None)
