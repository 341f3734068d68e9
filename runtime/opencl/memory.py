"""Memory of an OpenCL device: buffers, and copies between them and arrays of the host."""

from __future__ import annotations

from ctypes import Structure, byref, c_size_t, c_uint, c_void_p, memmove
from typing import Any

import numpy as np

from .library import OpenCLError, Owned, call, driver_call, library, make, sizes

# What OpenCL's headers call them, with CL_ in front.
_MEM_READ_WRITE, _MEM_READ_ONLY = 1, 4
_MEM_USE_HOST_PTR, _MEM_ALLOC_HOST_PTR, _MEM_COPY_HOST_PTR = 8, 16, 32
_MEM_SVM_FINE_GRAIN_BUFFER = 1 << 10
_BUFFER_CREATE_TYPE_REGION = 0x1220
_RGBA, _HALF_FLOAT, _FLOAT = 0x10B5, 0x10DD, 0x10DE
_MEM_OBJECT_IMAGE1D_BUFFER = 0x10F6


class _Description(Structure):
    """What OpenCL calls cl_image_desc."""

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
    """The buffers of one device, each by the driver's handle.

    Where device and host share memory that both may touch without telling the driver, which the
    standard calls fine-grained, the host copies by itself. Each copy by the driver would wake one
    of its threads and then wait for it, which takes longer than the copy.
    """

    def __init__(
        self,
        device: str,
        context: int,
        queue: int,
        owned: Owned,
        on_host: bool,
        shared: bool,
    ) -> None:
        """`owned` gets what is to be given back; `device` is its name for people."""
        self._name, self._context, self._queue, self._owned = device, context, queue, owned
        self._on_host, self._shared = on_host, shared
        self._addresses: dict[int, int] = {}
        """Where buffers lie that are memory of the host."""
        self._constants: list[Any] = []
        """What buffers have no copy of."""
        self._pending: list[Any] = []
        """Arrays the driver is copying."""
        self._wanted: list[tuple[Any, int]] = []
        """Arrays to fill when everything is done, and from where."""
        self.busy = False
        """Whether the queue may have something to do."""

    def allocate(self, size: int) -> int:
        # A buffer cannot be empty; kernels that are given an empty one never read it.
        size = max(size, 1)
        with driver_call(self._name, f"allocating {size} bytes"):
            if self._shared:
                return self._allocate_shared(size)
            flags = _MEM_READ_WRITE
            if self._on_host:
                # PoCL allocates at first use otherwise, and ends the process if there is no memory.
                flags |= _MEM_ALLOC_HOST_PTR
            return self._buffer(flags, size, None)

    def _allocate_shared(self, size: int) -> int:
        flags = _MEM_READ_WRITE | _MEM_SVM_FINE_GRAIN_BUFFER
        address = library().clSVMAlloc(self._context, flags, size, 0)
        if not address:
            # The driver gives no reason; it gives one for a buffer that it allocates itself.
            return self._buffer(_MEM_READ_WRITE | _MEM_ALLOC_HOST_PTR, size, None)
        self._owned.add("clSVMFree", self._context, address)
        buffer = self._buffer(_MEM_READ_WRITE | _MEM_USE_HOST_PTR, size, address)
        self._addresses[buffer] = address
        return buffer

    def _buffer(self, flags: int, size: int, content: int | None) -> int:
        buffer = make("clCreateBuffer", self._context, flags, size, content)
        return self._owned.add("clReleaseMemObject", buffer)

    def constant(self, data: memoryview) -> int:
        if not data.nbytes:
            return self.allocate(0)
        # The file's own pages serve a device that works on the host's memory; others get a copy.
        place = _MEM_USE_HOST_PTR if self._on_host else _MEM_COPY_HOST_PTR
        content = np.frombuffer(data, np.uint8)
        with driver_call(self._name, f"copying {data.nbytes} bytes of weights"):
            buffer = self._buffer(_MEM_READ_ONLY | place, data.nbytes, content.ctypes.data)
            if self._on_host:
                self._addresses[buffer] = content.ctypes.data
        self._constants.append(content)
        return buffer

    def part(self, buffer: int, offset: int, size: int) -> int:
        region = sizes(offset, size)
        with driver_call(self._name, f"taking {size} bytes at {offset} of a buffer"):
            part = make("clCreateSubBuffer", buffer, 0, _BUFFER_CREATE_TYPE_REGION, region)
        return self._owned.add("clReleaseMemObject", part)

    def image(self, buffer: int, offset: int, size: int, texel: int) -> int:
        """See `device.Device.image`; a texel has four floats, or half floats if it has 8 bytes."""
        kind = _FLOAT if texel == 16 else _HALF_FLOAT
        with driver_call(self._name, f"taking {size} bytes at {offset} of a buffer as an image"):
            try:
                return self._image(self.part(buffer, offset, size), size // texel, kind)
            except OpenCLError:
                address = self._addresses.get(buffer)
                if address is None:
                    raise
                # PoCL has images of whole buffers only, but lets several share the host's memory.
                part = self._buffer(_MEM_READ_WRITE | _MEM_USE_HOST_PTR, size, address + offset)
                return self._image(part, size // texel, kind)

    def _image(self, buffer: int, texels: int, kind: int) -> int:
        form = _Description(_MEM_OBJECT_IMAGE1D_BUFFER, texels, buffer=buffer)
        given = byref((c_uint * 2)(_RGBA, kind)), byref(form)
        image = make("clCreateImage", self._context, _MEM_READ_ONLY, *given, None)
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
                call(
                    *("clEnqueueFillBuffer", self._queue, buffer, pattern, 1),
                    *(0, size, 0, None, None),
                )
            self.busy = True

    def finish(self, doing: str) -> None:
        """Wait until the queue has done everything, and complete what was to be downloaded."""
        with driver_call(self._name, doing):
            call("clFinish", self._queue)
        self.busy = False
        for array, address in self._wanted:
            memmove(array.ctypes.data, address, array.nbytes)
        self.forget()

    def forget(self) -> None:
        """Let go of the arrays of copies that are done."""
        self._pending.clear()
        self._wanted.clear()

    def release(self) -> None:
        """Let go of all arrays, once the buffers are given back."""
        self.forget()
        self._constants.clear()
