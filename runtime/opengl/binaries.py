"""OpenGL programs as the driver's binaries and back, which moderngl does not support.

With glGetProgramBinary and glProgramBinary, of OpenGL ES 3.0 and OpenGL 4.1. Drivers reject
binaries of other drivers and of other versions of themselves.
"""

from __future__ import annotations

import ctypes
import struct
from ctypes import POINTER, c_int, c_uint, c_void_p
from typing import Any

from .egl import Context

# GL_NUM_PROGRAM_BINARY_FORMATS, GL_PROGRAM_BINARY_LENGTH and GL_LINK_STATUS.
_FORMATS, _LENGTH, _LINKED = 0x87FE, 0x8741, 0x8B82
_HEADER = struct.Struct("<I")  # The driver's number for the format.

# The result and the parameters of each function.
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "glCreateProgram": (c_uint,),
    "glDeleteProgram": (None, c_uint),
    "glDispatchCompute": (None, c_uint, c_uint, c_uint),
    "glGetError": (c_uint,),
    "glGetIntegerv": (None, c_uint, POINTER(c_int)),
    "glGetProgramBinary": (None, c_uint, c_int, POINTER(c_int), POINTER(c_uint), c_void_p),
    "glGetProgramiv": (None, c_uint, c_uint, POINTER(c_int)),
    "glProgramBinary": (None, c_uint, c_uint, c_void_p, c_int),
    "glUseProgram": (None, c_uint),
}


class ProgramBinaries:
    """Reads and restores the programs of a context, which must be current during every call."""

    def __init__(self, context: Context) -> None:
        self._gl: dict[str, Any] = {}
        for name, types in _SIGNATURES.items():
            address = context.load(name)
            if address:
                self._gl[name] = ctypes.CFUNCTYPE(*types)(address)
        formats = c_int()
        if len(self._gl) == len(_SIGNATURES):
            self._gl["glGetIntegerv"](_FORMATS, formats)
        self.supported = formats.value > 0  # Whether the driver supports program binaries.

    def read(self, program: int) -> bytes | None:
        """The binary of a program, given as OpenGL's name of it; None if the driver has none."""
        size = self._value(program, _LENGTH)
        content = ctypes.create_string_buffer(max(size, 1))
        written, kind = c_int(), c_uint()
        self._gl["glGetProgramBinary"](program, size, written, kind, content)
        if self._gl["glGetError"]() or not written.value:
            return None
        return _HEADER.pack(kind.value) + content.raw[: written.value]

    def restore(self, data: bytes) -> RestoredShader | None:
        """The program of such a binary, to be released; None if the driver rejects it."""
        if len(data) <= _HEADER.size:
            return None
        (kind,) = _HEADER.unpack_from(data)
        program = self._gl["glCreateProgram"]()
        content = data[_HEADER.size :]
        self._gl["glProgramBinary"](program, kind, content, len(content))
        if self._gl["glGetError"]() or not self._value(program, _LINKED):
            self._gl["glDeleteProgram"](program)
            return None
        return RestoredShader(self._gl, program)

    def _value(self, program: int, name: int) -> int:
        value = c_int()
        self._gl["glGetProgramiv"](program, name, value)
        return value.value


class RestoredShader:
    """A program made from a binary, with the interface of moderngl.ComputeShader."""

    def __init__(self, gl: dict[str, Any], program: int) -> None:
        self._gl, self.glo = gl, program

    def run(self, x: int, y: int, z: int) -> None:
        self._gl["glUseProgram"](self.glo)
        self._gl["glDispatchCompute"](x, y, z)

    def release(self) -> None:
        self._gl["glDeleteProgram"](self.glo)
