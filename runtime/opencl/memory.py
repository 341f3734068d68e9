"""Memory of an OpenCL device: buffers, images, and copies to and from arrays on the host.

numpy is imported where it is used: another thread imports it while a device is opened.
"""

import weakref
from ctypes import Structure, byref, c_char, c_size_t, c_uint, c_void_p, memmove
from typing import Any

from ..launch.callers_memory import CallersMemory
from .functions import functions_of
from .library import OpenCLError, OwnedHandles, call, driver_call, make, sizes

# As in OpenCL's headers, without the prefix CL_.
_MEM_READ_WRITE, _MEM_READ_ONLY = 1, 4
_MEM_USE_HOST_PTR, _MEM_ALLOC_HOST_PTR, _MEM_COPY_HOST_PTR = 8, 16, 32
_MEM_SVM_FINE_GRAIN_BUFFER = 1 << 10
_BUFFER_CREATE_TYPE_REGION = 0x1220
_RGBA, _HALF_FLOAT, _FLOAT = 0x10B5, 0x10DD, 0x10DE
_MEM_OBJECT_IMAGE1D_BUFFER = 0x10F6

# Platforms where launches that work on sub-buffers are slow, seen in NVIDIA's 580.159: 34 to 45 us
# each with 51 to 98 sub-buffers of an arena, where launches that get addresses take 6 to 9.
SLOW_SUB_BUFFERS = frozenset({"NVIDIA CUDA"})


class Address(int):
    """A place in shared virtual memory, which a kernel gets instead of a sub-buffer."""


class _ImageDescription(Structure):
    """cl_image_desc."""

    _fields_ = (
        ("type", c_uint),
        ("width", c_size_t),
        ("height", c_size_t),
        ("depth", c_size_t),
        ("array_size", c_size_t),
        ("row_pitch", c_size_t),
        ("slice_pitch", c_size_t),
        ("mip_levels", c_uint),
        ("samples", c_uint),
        ("buffer", c_void_p),
    )


class OpenCLMemory:
    """The buffers of one device, each given as the driver's handle.

    With fine-grained shared virtual memory, which host and device can both access without telling
    the driver, the host copies by itself. The driver would wake one of its threads for each copy
    and wait for it, which takes longer than the copy.

    Buffers in coarse-grained shared virtual memory are copied by the driver, as others are, but
    kernels get places in them as addresses, for which the driver needs no sub-buffers.
    """

    def __init__(
        self,
        device: str,
        context: int,
        queue: int,
        owned: OwnedHandles,
        on_host: bool,
        shared: bool,
        addressed: bool,
    ) -> None:
        """`device` is the device's name for messages; `owned` takes the buffers, to release them.

        `on_host` says that the device uses the host's memory, `shared` that it has fine-grained
        shared virtual memory, `addressed` that kernels get places in buffers as addresses.
        """
        self._name, self._context, self._queue, self._owned = device, context, queue, owned
        self._on_host, self._shared, self._addressed = on_host, shared, addressed
        self._addresses: dict[int, int] = {}  # The addresses of buffers in the host's memory.
        # The addresses of buffers for kernels, where these get addresses.
        self._places: dict[int, int] = {}
        # By address, the memory that arrays from `mapped` refer to.
        self._views: dict[int, weakref.ref[Any]] = {}
        self._constants: list[Any] = []  # Arrays that buffers refer to instead of having a copy.
        self._pending: list[Any] = []  # Arrays that the driver is copying.
        # Arrays to fill when the queue is done, and the addresses to copy from.
        self._wanted: list[tuple[Any, int]] = []
        self._functions = functions_of(context)
        self._finish = self._functions["clFinish"]
        self.busy = False  # Whether the queue may have work left.

    def allocate(self, size: int) -> int:
        # OpenCL has no empty buffers.
        size = max(size, 1)
        with driver_call(self._name, f"allocating {size} bytes"):
            flags = _MEM_READ_WRITE
            if self._on_host:
                # PoCL would allocate at first use, and abort the process if that fails.
                flags |= _MEM_ALLOC_HOST_PTR
            # Where shared memory is refused for no reason, the driver's own has one.
            return self._allocate_shared(size) or self._buffer(flags, size, None)

    def _allocate_shared(self, size: int) -> int:
        """0 if the driver has no shared memory for it."""
        if not (self._shared or self._addressed):
            return 0
        flags = _MEM_READ_WRITE | (_MEM_SVM_FINE_GRAIN_BUFFER if self._shared else 0)
        address: int = self._functions["clSVMAlloc"](self._context, flags, size, 0)
        if not address:
            return 0
        self._owned.add(self._free_shared, address)
        buffer = self._buffer(_MEM_READ_WRITE | _MEM_USE_HOST_PTR, size, address)
        (self._addresses if self._shared else self._places)[buffer] = address
        self._owned.add(self._forget, buffer)
        return buffer

    def _forget(self, buffer: int) -> int:
        """Drop what is known of a buffer, whose handle the driver may give to another one."""
        self._addresses.pop(buffer, None)
        self._places.pop(buffer, None)
        return 0

    def adopt(self, memory: CallersMemory, size: int) -> int:
        """A buffer of the caller, which is retained until it is released."""
        with driver_call(self._name, f"using a {memory.kind}"):
            if memory.shared:
                flags = _MEM_READ_WRITE | _MEM_USE_HOST_PTR
                return self._buffer(flags, max(size, 1), memory.handle)
            call("clRetainMemObject", memory.handle)
            return self._owned.add("clReleaseMemObject", memory.handle)

    def mapped(self, buffer: int, size: int) -> Any:
        """The first bytes of a buffer as an array; None if the host cannot access it."""
        address = self._addresses.get(buffer)
        if address is None:
            return None
        view = self._views.get(address)
        memory: Any = view() if view else None
        if memory is None:
            memory = (c_char * size).from_address(address)
            self._views[address] = weakref.ref(memory)
        import numpy as np

        return np.frombuffer(memory, np.uint8, size)

    def _free_shared(self, address: int) -> int:
        """Free shared memory, once no array of the caller refers to it."""
        view = self._views.pop(address, None)
        memory: Any = view() if view else None
        if memory is None:
            call("clSVMFree", self._context, address)
        else:
            call("clRetainContext", self._context)
            weakref.finalize(memory, _free_late, self._context, address).atexit = False
        return 0

    def _buffer(self, flags: int, size: int, content: int | None) -> int:
        buffer = make("clCreateBuffer", self._context, flags, size, content)
        return self._owned.add("clReleaseMemObject", buffer)

    def constant(self, data: memoryview) -> int:
        if not data.nbytes:
            return self.allocate(0)
        import numpy as np

        if self._addressed:
            buffer = self.allocate(data.nbytes)
            self.upload(buffer, np.frombuffer(data, np.uint8), 0)
            return buffer
        # A device that uses the host's memory reads the mapped file; others get a copy.
        place = _MEM_USE_HOST_PTR if self._on_host else _MEM_COPY_HOST_PTR
        content = np.frombuffer(data, np.uint8)
        with driver_call(self._name, f"copying {data.nbytes} bytes of weights"):
            buffer = self._buffer(_MEM_READ_ONLY | place, data.nbytes, content.ctypes.data)
            if self._on_host:
                self._addresses[buffer] = content.ctypes.data
        self._constants.append(content)
        return buffer

    def sub_buffer(self, buffer: int, offset: int, size: int) -> int:
        """What a kernel gets for a piece of a buffer."""
        if buffer in self._places:
            return Address(self._places[buffer] + offset)
        return self._region(buffer, offset, size)

    def _region(self, buffer: int, offset: int, size: int) -> int:
        region = sizes(offset, size)
        with driver_call(self._name, f"creating a sub-buffer of {size} bytes at {offset}"):
            made = make("clCreateSubBuffer", buffer, 0, _BUFFER_CREATE_TYPE_REGION, region)
        return self._owned.add("clReleaseMemObject", made)

    def image(self, buffer: int, offset: int, size: int, texel: int) -> int:
        """Texels of 16 bytes are four floats, texels of 8 bytes four half floats."""
        kind = _FLOAT if texel == 16 else _HALF_FLOAT
        with driver_call(self._name, f"creating an image of {size} bytes at {offset} of a buffer"):
            try:
                piece = self._region(buffer, offset, size) if offset else buffer
                return self._image(piece, size // texel, kind)
            except OpenCLError:
                address = self._addresses.get(buffer)
                if address is None:
                    raise
                # PoCL supports images of whole buffers only, but several buffers of one memory.
                flags = _MEM_READ_WRITE | _MEM_USE_HOST_PTR
                return self._image(self._buffer(flags, size, address + offset), size // texel, kind)

    def _image(self, buffer: int, texels: int, kind: int) -> int:
        form = _ImageDescription(_MEM_OBJECT_IMAGE1D_BUFFER, texels, buffer=buffer)
        formats = byref((c_uint * 2)(_RGBA, kind)), byref(form)
        image = make("clCreateImage", self._context, _MEM_READ_ONLY, *formats, None)
        return self._owned.add("clReleaseMemObject", image)

    def upload(self, buffer: int, array: Any, offset: int) -> None:
        address = self._addresses.get(buffer)
        if address is None:
            self._copy("clEnqueueWriteBuffer", buffer, array, offset, "copying an input")
        elif array.nbytes:
            if self.busy:
                self.finish("copying an input")
            memmove(address + offset, array.ctypes.data, array.nbytes)

    def download(self, buffer: int, array: Any, offset: int) -> None:
        address = self._addresses.get(buffer)
        if address is None:
            self._copy("clEnqueueReadBuffer", buffer, array, offset, "copying an output")
        elif array.nbytes:
            self._wanted.append((array, address + offset))

    def _copy(self, function: str, buffer: int, array: Any, offset: int, doing: str) -> None:
        if array.nbytes:
            with driver_call(self._name, doing):
                place = array.ctypes.data
                size = array.nbytes
                call(function, self._queue, buffer, False, offset, size, place, 0, None, None)
            self.busy = True
            self._pending.append(array)

    def fill(self, buffer: int, size: int, byte: int) -> None:
        if size:
            pattern = bytes([byte])
            with driver_call(self._name, f"filling {size} bytes"):
                call("clEnqueueFillBuffer", self._queue, buffer, pattern, 1, 0, size, 0, None, None)
            self.busy = True

    def finish(self, doing: str) -> None:
        """Wait until the queue is done, then complete the downloads."""
        # A block of `driver_call` would take as long as a small copy.
        status = self._finish(self._queue)
        if status:
            with driver_call(self._name, doing):
                raise OpenCLError("clFinish", status)
        self.busy = False
        for array, address in self._wanted:
            memmove(array.ctypes.data, address, array.nbytes)
        self._drop_copied()

    def taken(self) -> list[Any]:
        """The arrays that the driver is copying, which the caller keeps from now on."""
        taken, self._pending = self._pending, []
        return taken

    def _drop_copied(self) -> None:
        """Drop the arrays of copies that are done."""
        self._pending.clear()
        self._wanted.clear()

    def release(self) -> None:
        """Drop all arrays, once the buffers have been released."""
        self._drop_copied()
        self._constants.clear()


def _free_late(context: int, address: int) -> None:
    call("clSVMFree", context, address)
    call("clReleaseContext", context)


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
