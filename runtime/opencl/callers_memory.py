"""Whether an OpenCL device can use memory of the caller."""

import sys

from ..errors import InputError
from ..launch.callers_memory import CallersMemory
from ..launch.device import DeviceInfo
from .library import OpenCLError, query

# As in OpenCL's headers, without the prefix CL_.
_MEM_FLAGS, _MEM_CONTEXT = 0x1101, 0x1106
_MEM_WRITE_ONLY, _MEM_READ_ONLY = 2, 4
_GL_SHARING = "cl_khr_gl_sharing"


def check_memory(memory: CallersMemory, info: DeviceInfo, context: int, writes: bool) -> None:
    """InputError unless kernels in a context can read the memory, and write it if `writes`."""
    if memory.library != "pyopencl":
        raise InputError(f"a {memory.kind} cannot be bound to a model on OpenCL: {_refusal(info)}")
    if memory.shared:
        return
    try:
        flags, owner = (
            int.from_bytes(query("clGetMemObjectInfo", memory.handle, name), sys.byteorder)
            for name in (_MEM_FLAGS, _MEM_CONTEXT)
        )
    except OpenCLError as error:
        raise InputError(f"the {memory.kind} has been released ({error})") from error
    if owner != context:
        raise InputError(
            f"the {memory.kind} belongs to another OpenCL context; load the model with "
            "context= the context or the queue of the buffer"
        )
    # Kernels may read what they have written, but not in images.
    reads = not (writes and memory.texture)
    if writes and flags & _MEM_READ_ONLY:
        raise _forbidden(memory, "write")
    if reads and flags & _MEM_WRITE_ONLY:
        raise _forbidden(memory, "read")


def _forbidden(memory: CallersMemory, needed: str) -> InputError:
    return InputError(
        f"kernels must not {needed} the {memory.kind}; create it with mem_flags.READ_WRITE"
    )


def _refusal(info: DeviceInfo) -> str:
    reason = f"{info.name} lacks {_GL_SHARING}"
    if _GL_SHARING in info.limits.extensions:
        reason = f"tflgpu does not use {_GL_SHARING}"
    return f"{reason}; bind a buffer of pyopencl, or compile the model with target glsl"
