"""Guards behind every buffer of a session: kernels stay within the sizes that plans state.

Behind buffers on a processor, and their alignment, there is a page that ends the process when a
kernel reads or writes it. Elsewhere there are bytes, which show what is written.
"""

import ctypes
import mmap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from devices import device_kinds

from tflgpu.compiler.ir import Array
from tflgpu.runtime.launch.callers_memory import CallersMemory

# Bytes behind each buffer. All bits are set, which is NaN for a kernel that reads floats.
GUARD = 256
ALIGNMENT = 64  # Of buffers on a processor, as vectors of 16 floats need it.

_PROCESS = ctypes.CDLL(None)


def before_a_fence(size: int) -> Array:
    """Memory for so many bytes and alignment behind them, before a page that is not accessible."""
    room = max(-(-size // ALIGNMENT), 1) * ALIGNMENT
    pages = -(-room // mmap.PAGESIZE) * mmap.PAGESIZE
    content = np.frombuffer(mmap.mmap(-1, pages + mmap.PAGESIZE), np.uint8)
    fence = ctypes.c_void_p(content.ctypes.data + pages)
    assert _PROCESS.mprotect(fence, ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    return content[pages - room : pages]


@contextmanager
def guarded() -> Iterator[Callable[[], None]]:
    """Sessions loaded within have guards, which the function asserts to be intact."""
    guards: list[tuple[Callable[[], Array], int]] = []

    def fenced(device: Any, size: int) -> Any:
        memory = before_a_fence(size)
        memory[size:] = 0xFF
        guards.append((lambda: memory[size:], size))
        caller = CallersMemory("numpy", "array", memory, memory.ctypes.data, shared=True)
        return device._memory.adopt(caller, size)

    def followed(device: Any, size: int, allocate: Callable[[Any, int], Any]) -> Any:
        buffer = allocate(device, size + GUARD)
        device.upload(buffer, np.full(GUARD, 0xFF, np.uint8), size)

        def behind() -> Array:
            found = np.empty(GUARD, np.uint8)
            device.download(buffer, found, size)
            device.finish()
            return found

        guards.append((behind, size))
        return buffer

    def watch(kind: Any) -> None:
        allocate = kind.allocate

        def allocate_more(device: Any, size: int) -> Any:
            on_processor = device.info.target == "opencl" and device.info.type == "cpu"
            return fenced(device, size) if on_processor else followed(device, size, allocate)

        patch.setattr(kind, "allocate", allocate_more)

    def check() -> None:
        for behind, size in guards:
            assert (behind() == 0xFF).all(), f"bytes behind a buffer of {size} were written"

    with pytest.MonkeyPatch.context() as patch:
        for kind in device_kinds():
            watch(kind)
        yield check
