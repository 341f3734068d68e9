"""Programs of an OpenCL device: compiled from sources, or restored from binaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from ctypes import addressof, byref, c_char_p, c_void_p, create_string_buffer, sizeof
from sys import byteorder

from ..errors import BuildError
from ..plan.records import Kernel
from ..store.joined_binaries import join_binaries, split_binaries
from .library import OpenCLError, Owned, call, driver_call, handles, make, query, sizes
from .sources import join_sources, numbered

Program = tuple[int, str]
"""A compiled program and the name of a kernel in it."""

# What OpenCL's headers call them, with CL_ in front.
_PROGRAM_BINARY_SIZES, _PROGRAM_BINARIES = 0x1165, 0x1166
_PROGRAM_BUILD_LOG = 0x1183


class OpenCLPrograms:
    """What compiles for one device."""

    def __init__(self, name: str, context: int, device: int, owned: Owned, options: str) -> None:
        """`owned` gets what is to be given back; `name` is the device's for people."""
        self._name, self._context, self._device, self._owned = name, context, device, owned
        self.options = options
        """For the device's compiler."""

    def build(self, kernels: Sequence[Kernel], sources: Mapping[str, str]) -> list[Program]:
        """All files as one program, which compiles several times faster than one by one.

        Where that fails each file is built alone, which finds the one at fault (BuildError).
        """
        texts = {kernel.file: sources[kernel.file] for kernel in kernels}
        names = [kernel.name for kernel in kernels]
        if names and len(set(names)) == len(names):
            with suppress(OpenCLError):
                joined = self._program(join_sources(texts))
                self._build(joined)
                return [(joined, name) for name in names]
        alone: dict[str, int] = {}
        for kernel in kernels:
            text = texts[kernel.file]
            if text not in alone:
                alone[text] = self._build_alone(kernel, text)
        return [(alone[texts[kernel.file]], kernel.name) for kernel in kernels]

    def _build_alone(self, kernel: Kernel, source: str) -> int:
        with driver_call(self._name, f"handing over {kernel.file}"):
            program = self._program(join_sources({kernel.file: source}))
        try:
            self._build(program)
        except OpenCLError as error:
            raise BuildError(kernel.file, self._log(program), numbered(source)) from error
        return program

    def _program(self, content: str | bytes) -> int:
        """A program of a source, or of a binary, that is yet to be built (OpenCLError)."""
        data = content.encode() if isinstance(content, str) else content
        pieces, lengths = (c_char_p * 1)(data), sizes(len(data))
        if isinstance(content, str):
            program = make("clCreateProgramWithSource", self._context, 1, pieces, lengths)
        else:
            program = make(
                *("clCreateProgramWithBinary", self._context, 1, handles(self._device)),
                *(lengths, pieces, None),
            )
        return self._owned.add("clReleaseProgram", program)

    def _build(self, program: int) -> None:
        options = self.options.encode()
        call("clBuildProgram", program, 1, handles(self._device), options, None, None)

    def _log(self, program: int) -> str:
        """What the device's compiler said of a program."""
        with driver_call(self._name, "asking why a kernel was refused"):
            log = query("clGetProgramBuildInfo", program, self._device, _PROGRAM_BUILD_LOG)
        return log.rstrip(b"\0").decode(errors="replace").strip()

    def binary(self, programs: Sequence[Program]) -> bytes | None:
        compiled = list(dict.fromkeys(program for program, _ in programs))
        with driver_call(self._name, "reading the compiled kernels"):
            contents = [_binary(program) for program in compiled]
        # An empty binary is the driver's way to say that it gives none.
        if not all(contents):
            return None
        places = [compiled.index(program) for program, _ in programs]
        return join_binaries(contents, places)

    def restore(self, kernels: Sequence[Kernel], binary: bytes) -> list[Program] | None:
        parts = split_binaries(binary)
        if parts is None or len(parts[1]) != len(kernels):
            return None
        contents, places = parts
        try:
            programs = [self._program(content) for content in contents]
            for program in programs:
                self._build(program)
        except OpenCLError:
            return None
        return [
            (programs[place], kernel.name) for place, kernel in zip(places, kernels, strict=True)
        ]


def _binary(program: int) -> bytes:
    """What a program was compiled to for its only device (OpenCLError)."""
    size = int.from_bytes(query("clGetProgramInfo", program, _PROGRAM_BINARY_SIZES), byteorder)
    content = create_string_buffer(size)
    place = c_void_p(addressof(content))
    call("clGetProgramInfo", program, _PROGRAM_BINARIES, sizeof(place), byref(place), None)
    return content.raw
