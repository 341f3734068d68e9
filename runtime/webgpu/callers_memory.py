"""Memory of the caller, made with wgpu."""

from typing import Any

from ..errors import InputError
from ..launch.callers_memory import CallersMemory
from .library import wgpu


def check_memory(memory: CallersMemory, device: Any, writes: bool) -> None:
    """Raise an InputError unless kernels of a device can use the memory."""
    if memory.library != "wgpu":
        raise InputError(
            f"a {memory.kind} cannot be bound to a model on WebGPU; bind a wgpu.GPUBuffer or "
            "GPUTexture, or compile the model with another target"
        )
    if memory.owner._device is not device:
        raise InputError(
            f"the {memory.kind} belongs to another device; load the model with context= the "
            "wgpu.GPUDevice of the buffer"
        )
    kinds = wgpu.TextureUsage if memory.texture else wgpu.BufferUsage
    name = ("COPY_DST" if writes else "COPY_SRC") if memory.texture else "STORAGE"
    if not memory.owner.usage & getattr(kinds, name):
        raise InputError(f"the {memory.kind} was made without the usage {name}, which is needed")
    if not memory.texture and memory.owner.map_state != "unmapped":
        raise InputError(f"the {memory.kind} is mapped for the host; unmap it before")
