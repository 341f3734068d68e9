"""Runs on device memory of a caller, exactly as large as plans state, with guards behind it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from guards import GUARD

from tflgpu.compiler.ir import Array
from tflgpu.runtime import Session
from tflgpu.runtime.plan.records import TensorInfo
from tflgpu.runtime.plan.running import TensorBuffer
from tflgpu.runtime.plan.storage import byte_size, device_dtype

_ALIGNMENT = 4096


class Callers:
    """A buffer of a caller for a tensor. All bits of it, and of the guard behind it, are set."""

    def __init__(self, session: Session, info: TensorInfo, size: int) -> None:
        self._device: Any = session._execution.device
        self._info, self._size = info, size
        made = {"opencl": self._opencl, "glsl": self._opengl, "wgsl": self._webgpu}
        self.buffer, self._read = made[session.device.target]()

    def _opencl(self) -> tuple[Any, Callable[[], Array]]:
        import pyopencl as cl

        room = np.full(self._size + GUARD + _ALIGNMENT, 0xFF, np.uint8)
        start = -room.ctypes.data % _ALIGNMENT
        self._memory = room[start : start + self._size + GUARD]
        context = cl.Context.from_int_ptr(self._device._context)
        if self._device.info.type == "cpu":
            flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
            buffer = cl.Buffer(context, flags, hostbuf=self._memory[: self._size])
            return buffer, lambda: self._memory
        # A GPU need not write to the host's memory before it is told to.
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        buffer = cl.Buffer(context, flags, hostbuf=self._memory)
        self._queue = cl.CommandQueue(context)

        def read() -> Array:
            cl.enqueue_copy(self._queue, self._memory, buffer)
            return self._memory

        return buffer, read

    def _opengl(self) -> tuple[Any, Callable[[], Array]]:
        def read() -> Array:
            with self._device.calls:
                return np.frombuffer(buffer.read(), np.uint8)

        with self._device.calls:
            buffer = self._device._gl.buffer(b"\xff" * (self._size + GUARD))
            self._device._owned.keep(buffer)
        return buffer, read

    def _webgpu(self) -> tuple[Any, Callable[[], Array]]:
        device = self._device._device
        content = b"\xff" * (self._size + GUARD)
        buffer = device.create_buffer_with_data(data=content, usage="STORAGE | COPY_SRC | COPY_DST")
        return buffer, lambda: np.frombuffer(device.queue.read_buffer(buffer), np.uint8)

    def write(self, array: Array) -> None:
        content = array.astype(device_dtype(self._info.dtype)).tobytes()
        if self._device.info.type == "cpu" and self._device.info.target == "opencl":
            self._memory[: len(content)] = np.frombuffer(content, np.uint8)
        elif self._device.info.target == "opencl":
            import pyopencl as cl

            cl.enqueue_copy(self._queue, self.buffer, np.frombuffer(content, np.uint8))
        elif self._device.info.target == "wgsl":
            self._device._queue.write_buffer(self.buffer, 0, content.ljust(self._size, b"\0"))
        else:
            with self._device.calls:
                self.buffer.write(content)

    def read(self) -> Array:
        """The tensor; nothing may have been written behind the buffer."""
        content = self._read()
        guard = content[self._size :]
        assert (guard == 0xFF).all(), f"bytes behind {self._info.name} were written"
        stored = content[: byte_size(self._info)].view(device_dtype(self._info.dtype))
        return stored.reshape(self._info.shape).astype(self._info.dtype)


@contextmanager
def bound_to_caller(
    session: Session, inputs: Mapping[str, Array], expected: Mapping[str, Array]
) -> Iterator[None]:
    """A run on memory of the caller must have the same outputs as one of the session's own."""
    plan, execution = session.plan, session._execution
    sources = _callers(session, plan.inputs, plan.input_buffers, execution.host_inputs)
    on_host = set(range(len(plan.outputs))) - set(execution.device_outputs)
    targets = _callers(session, plan.outputs, plan.output_buffers, on_host)
    for name, source in sources.items():
        source.write(np.asarray(inputs[name]))
    others = {info.name: inputs[info.name] for info in plan.inputs if info.name not in sources}
    bound_inputs = {**others, **{name: source.buffer for name, source in sources.items()}}
    session.reset()
    with session.bind(
        bound_inputs, {name: target.buffer for name, target in targets.items()}
    ) as bound:
        bound.run()
        for name, target in targets.items():
            np.testing.assert_array_equal(target.read(), expected[name], err_msg=name)
        for source in sources.values():
            source.read()
        yield


def _callers(
    session: Session,
    infos: Sequence[TensorInfo],
    buffers: Sequence[TensorBuffer],
    on_host: set[int],
) -> dict[str, Callers]:
    """Memory for the tensors that can be bound to it, by name."""
    return {
        info.name: Callers(session, info, buffer.reach)
        for index, (info, buffer) in enumerate(zip(infos, buffers, strict=True))
        if buffer.reach and index not in on_host
    }
