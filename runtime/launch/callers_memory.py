"""Objects of other libraries that stand for device memory: those of pyopencl, moderngl and wgpu.

They are recognized by their classes' names. Importing the libraries to ask would take longer than
loading a model, and an application that has such an object has imported its library already.
"""

from collections.abc import Callable
from math import prod
from typing import Any

from ..errors import DeviceError, InputError
from ..frozen import dataclass

_LIBRARIES = ("pyopencl", "moderngl", "wgpu")


@dataclass(frozen=True)
class CallersMemory:
    """Device memory of the caller, which lives as long as `owner`."""

    library: str
    kind: str  # The class of the object, such as pyopencl.Buffer.
    owner: Any
    # A cl_mem, the address of shared virtual memory, or OpenGL's name of a buffer; 0 for wgpu.
    handle: int = 0
    size: int = 0  # Bytes of the buffer; 0 for a texture.
    shared: bool = False
    offset: int = 0  # The byte of the buffer at which the caller's data starts.
    dtype: str | None = None  # None for memory without a type.
    shape: tuple[int, ...] = ()
    contiguous: bool = True
    # Whether it is a texture or an image, of `shape` [height, width, channels].
    texture: bool = False

    def mismatch(self, dtype: str, shape: tuple[int, ...], size: int) -> str | None:
        """Why it cannot hold a tensor, of which kernels access `size` bytes; None if it can.

        `dtype` is that of the tensor's elements on the device.
        """
        if self.dtype is not None and self.dtype != dtype:
            return f"its elements are {self.dtype}, but those on the device are {dtype}"
        fits = prod(self.shape) == prod(shape)
        if self.texture:
            fits = fits and shape[-3:] == self.shape
        if self.dtype is not None and not fits:
            return f"its shape is {list(self.shape)}, but that of the tensor is {list(shape)}"
        if not self.contiguous:
            return "its elements are not contiguous in the order of C"
        if self.offset:
            return f"it starts at byte {self.offset} of a buffer; give it a buffer of its own"
        if self.size < size and not self.texture:
            return (
                f"it has {self.size} bytes, but kernels access {size}: each element of the tensor "
                f"{list(shape)} takes 4 bytes as {dtype}"
            )
        return None


@dataclass(frozen=True)
class CallersContext:
    """A context of the caller, in which a model is loaded."""

    target: str  # The language of the kernels that run in it: opencl, glsl or wgsl.
    kind: str  # The class of the object, such as pyopencl.Context.
    owner: Any
    queue: bool  # Whether the object is a queue of its context.


def is_released(value: Any) -> bool:
    """Whether moderngl has released an object; the other libraries do not tell."""
    return type(getattr(value, "mglo", None)).__name__ == "InvalidObject"


def callers_context(value: Any) -> CallersContext:
    """What the caller gives as a context (DeviceError)."""
    for base in type(value).__mro__:
        kind = f"{base.__module__.partition('.')[0]}.{base.__name__}"
        if kind in _CONTEXTS:
            if is_released(value):
                raise DeviceError(f"the {kind} given as context has been released")
            return CallersContext(_CONTEXTS[kind], kind, value, kind.endswith("Queue"))
    raise DeviceError(
        f"context={value!r}: give a {', a '.join(_CONTEXTS)}, or None for a context of its own"
    )


def callers_memory(value: Any) -> CallersMemory | None:
    """The device memory that an object stands for; None if it is not of a library known here.

    InputError for the libraries' other objects, such as images.
    """
    libraries = set()
    for base in type(value).__mro__:
        library = base.__module__.partition(".")[0]
        if library in _LIBRARIES:
            libraries.add(library)
            read = _READERS.get(f"{library}.{base.__name__}")
            if read is not None:
                kind = f"{library}.{type(value).__name__}"
                if is_released(value):
                    raise InputError(f"the {kind} has been released")
                return CallersMemory(library, kind, value, **read(value))
    for library in libraries:
        kinds = " or ".join(kind for kind in _READERS if kind.startswith(library))
        raise InputError(f"a {library}.{type(value).__name__} cannot be bound; bind a {kinds}")
    return None


_CONTEXTS = {
    "pyopencl.Context": "opencl",
    "pyopencl.CommandQueue": "opencl",
    "moderngl.Context": "glsl",
    "wgpu.GPUDevice": "wgsl",
}

# The channels of an image by its order: CL_R, CL_RG and CL_RGBA.
_CHANNELS = {0x10B0: 1, 0x10B2: 2, 0x10B5: 4}
# The dtype of channels by CL_UNORM_INT8, CL_UNSIGNED_INT8, CL_SIGNED_INT32 and CL_FLOAT.
_CHANNEL_TYPES = {0x10D2: "uint8", 0x10DA: "uint8", 0x10D9: "int32", 0x10DE: "float32"}
# The dtype of the channels of a texture, by moderngl's name for it.
_TEXELS = {"f4": "float32", "i4": "int32", "f1": "uint8", "u1": "uint8"}
# The channels of a texture and their dtype, by WebGPU's name for its format.
_FORMATS = {
    f"{name}{bits}{kind}": (channels, dtype)
    for channels, name in ((1, "r"), (2, "rg"), (4, "rgba"))
    for bits, kind, dtype in (
        *((8, "unorm", "uint8"), (8, "uint", "uint8"), (8, "sint", "int8")),
        *((32, "float", "float32"), (32, "sint", "int32")),
    )
}


def _array(value: Any) -> dict[str, Any]:
    memory = callers_memory(value.base_data)
    if memory is None:
        kind = type(value).__name__
        raise InputError(
            f"a pyopencl.{kind} without elements has no memory; pass an array of the host"
        )
    return {
        **{"handle": memory.handle, "size": memory.size, "shared": memory.shared},
        **{"offset": value.offset, "dtype": value.dtype.name, "shape": tuple(value.shape)},
        "contiguous": bool(value.flags.c_contiguous),
    }


def _texture(height: int, width: int, channels: int, dtype: str, handle: int) -> dict[str, Any]:
    shape = (height, width, channels)
    return {"handle": handle, "dtype": dtype, "shape": shape, "texture": True}


def _opencl_image(value: Any) -> dict[str, Any]:
    layout = value.format
    order, dtype = layout.channel_order, layout.channel_data_type
    if value.depth > 1 or value.array_size or order not in _CHANNELS:
        raise InputError(
            f"a pyopencl.{type(value).__name__} of {layout} cannot be bound; bind one of 2 "
            "dimensions in RGBA"
        )
    named = _CHANNEL_TYPES.get(dtype, f"{layout} as pyopencl calls them")
    return _texture(value.height, value.width, _CHANNELS[order], named, value.int_ptr)


def _opengl_texture(value: Any) -> dict[str, Any]:
    named = _TEXELS.get(value.dtype, f"{value.dtype} as moderngl calls them")
    width, height = value.size
    return _texture(height, width, value.components, named, value.glo)


def _webgpu_texture(value: Any) -> dict[str, Any]:
    channels, named = _FORMATS.get(value.format, (0, f"{value.format} as WebGPU calls them"))
    return _texture(value.height, value.width, channels, named, 0)


# What reads the fields of a `CallersMemory` from an object, by the name of its class or a base.
_READERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "pyopencl.Buffer": lambda value: {"handle": value.int_ptr, "size": value.size},
    "pyopencl.PooledBuffer": lambda value: {"handle": value.int_ptr, "size": value.size},
    "pyopencl.SVMPointer": lambda svm: {"handle": svm.svm_ptr, "size": svm.size, "shared": True},
    "pyopencl.Array": _array,
    "pyopencl.Image": _opencl_image,
    "moderngl.Buffer": lambda value: {"handle": value.glo, "size": value.size},
    "moderngl.Texture": _opengl_texture,
    "wgpu.GPUBuffer": lambda value: {"size": value.size},
    "wgpu.GPUTexture": _webgpu_texture,
}
