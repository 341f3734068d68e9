"""Programs of an OpenCL device, compiled from sources or restored from a binary."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from ctypes import addressof, byref, c_char_p, c_void_p, create_string_buffer, sizeof
from sys import byteorder

from ..cache.binaries import join_programs, split_programs
from ..errors import BuildError
from ..launch.device import Sources
from ..plan.kernels import Kernel
from .library import OpenCLError, OwnedHandles, call, driver_call, handles, make, query, sizes

Program = tuple[int, str]  # The driver's handle of a program, and the name of a kernel in it.

# As in OpenCL's headers, without the prefix CL_.
_PROGRAM_BINARY_SIZES, _PROGRAM_BINARIES = 0x1165, 0x1166
_PROGRAM_BUILD_LOG = 0x1183


class OpenCLPrograms:
    def __init__(
        self, name: str, context: int, device: int, owned: OwnedHandles, defines: str
    ) -> None:
        """`owned` takes the programs; `defines` are options of the compiler beside a plan's."""
        self._name, self._context, self._device, self._owned = name, context, device, owned
        self._defines = defines

    def build(self, kernels: Sequence[Kernel], options: str, sources: Sources) -> list[Program]:
        """Compile all files as one program, several times faster than one by one.

        If that fails, every file is compiled by itself to find the one at fault (BuildError).
        """
        texts = {kernel.file: sources[kernel.file] for kernel in kernels}
        names = [kernel.name for kernel in kernels]
        if names and len(set(names)) == len(names):
            with suppress(OpenCLError):
                joined = self._program(join_sources(texts))
                self._build(joined, options)
                return [(joined, name) for name in names]
        single: dict[str, int] = {}
        for kernel in kernels:
            text = texts[kernel.file]
            if text not in single:
                single[text] = self._build_single(kernel, options, text)
        return [(single[texts[kernel.file]], kernel.name) for kernel in kernels]

    def _build_single(self, kernel: Kernel, options: str, source: str) -> int:
        with driver_call(self._name, f"passing {kernel.file} to the compiler"):
            program = self._program(join_sources({kernel.file: source}))
        try:
            self._build(program, options)
        except OpenCLError as error:
            log = build_log(program, self._device, error)
            raise BuildError(kernel.file, log, source) from error
        return program

    def _program(self, content: str | bytes) -> int:
        """A program of a source (str) or a binary (bytes), which is not built yet (OpenCLError)."""
        data = content.encode() if isinstance(content, str) else content
        pieces, lengths = (c_char_p * 1)(data), sizes(len(data))
        if isinstance(content, str):
            program = make("clCreateProgramWithSource", self._context, 1, pieces, lengths)
        else:
            made = (self._context, 1, handles(self._device), lengths, pieces, None)
            program = make("clCreateProgramWithBinary", *made)
        return self._owned.add("clReleaseProgram", program)

    def _build(self, program: int, options: str) -> None:
        text = f"{options}{self._defines}".encode()
        call("clBuildProgram", program, 1, handles(self._device), text, None, None)

    def binary(self, programs: Sequence[Program]) -> bytes | None:
        """All programs as one binary; None if the driver does not return it (DeviceError)."""
        compiled = list(dict.fromkeys(program for program, _ in programs))
        with driver_call(self._name, "reading the compiled kernels"):
            contents = [_binary(program) for program in compiled]
        # Drivers that do not return binaries return empty ones.
        if not all(contents):
            return None
        return join_programs(contents, [compiled.index(program) for program, _ in programs])

    def restore(
        self, kernels: Sequence[Kernel], options: str, binary: bytes
    ) -> list[Program] | None:
        """The programs that `binary` was made from; None if the driver rejects it."""
        joined = split_programs(binary)
        if joined is None or len(joined[1]) != len(kernels):
            return None
        contents, places = joined
        try:
            programs = [self._program(content) for content in contents]
            for program in programs:
                self._build(program, options)
        except OpenCLError:
            return None
        return [
            (programs[place], kernel.name) for place, kernel in zip(places, kernels, strict=True)
        ]


def build_log(program: int, device: int, error: OpenCLError) -> str:
    """What the compiler says of a program; the error of the build if it says nothing.

    So it is of compilers that did not begin, as where memory is full.
    """
    log = b""
    with suppress(OpenCLError):
        log = query("clGetProgramBuildInfo", program, device, _PROGRAM_BUILD_LOG)
    return log.rstrip(b"\0").decode(errors="replace").strip() or str(error)


def _binary(program: int) -> bytes:
    """What a program was compiled to for its only device (OpenCLError)."""
    size = int.from_bytes(query("clGetProgramInfo", program, _PROGRAM_BINARY_SIZES), byteorder)
    content = create_string_buffer(size)
    place = c_void_p(addressof(content))
    call("clGetProgramInfo", program, _PROGRAM_BINARIES, sizeof(place), byref(place), None)
    return content.raw


def join_sources(sources: Mapping[str, str]) -> str:
    """One source of several files, whose messages keep the names of the files and their lines.

    No file changes the meaning of a later one: each undefines its macros at its end, and its
    functions are named after its kernel.
    """
    return "".join(f'#line 1 "{file}"\n{text}\n' for file, text in sources.items())
