"""Running the programs that compilers of GPUs are, and compiling OpenCL C with Clang."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...codegen.translate import ToolError


@dataclass(frozen=True)
class Module:
    """A kernel as a compiler takes it."""

    content: bytes  # SPIR-V, or a source in OpenCL C.
    parameters: int
    group: tuple[int, int, int]  # Work-items of a work-group along each axis.
    options: str = ""  # What a runtime tells the driver's compiler.


@dataclass(frozen=True)
class MachineCode:
    """A kernel as a compiler makes it."""

    registers: int  # Vector registers of a work-item; on Intel of a sub-group.
    spills: int  # Registers that do not fit, or bytes of memory used in their place.
    lanes: int  # Work-items that run in lockstep: a wave, warp or vector.
    # How many of these fit at once on a SIMD (AMD), a multiprocessor (NVIDIA) or an execution unit
    # (Intel); more hide more latency.
    waves: int
    instructions: int
    branches: int
    loads: int  # Loads from global memory by each lane.
    uniform_loads: int  # Loads by a wave as a whole.
    multiply_adds: int
    text: str  # The machine code in the compiler's assembly language.


# Where Debian's libclc lies: the functions of OpenCL C for each kind of GPU.
LIBRARY = Path("/usr/lib/clc")
CLANG_PACKAGES = "apt install clang-19 libclc-19"
# What drivers assume unless they are told otherwise.
DEFAULTS = ("-x", "cl", "-cl-std=CL1.2", "-O3")
# What `-cl-denorms-are-zero` means, which Clang passes on for AMD's GPUs alone.
FLUSHED = ("-Xclang", "-fdenormal-fp-math-f32=preserve-sign")
LONGEST = 120  # Seconds after which a program is stopped.
TAIL = 2000  # Most characters of a program's messages that are repeated.


def run(
    command: Sequence[str | Path], kernel: str, environment: Mapping[str, str] | None = None
) -> str:
    """What a program prints, with `environment` added to ours (ToolError that names the kernel)."""
    program = Path(command[0]).name
    try:
        done = subprocess.run(
            [str(word) for word in command],
            env={**os.environ, **(environment or {})},
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"{program} took more than {LONGEST} s for {kernel}") from error
    if done.returncode:
        output = (done.stdout + done.stderr)[-TAIL:]
        raise ToolError(f"{program} failed on {kernel}:\n{output}")
    return done.stdout + done.stderr


def compile_to_assembly(
    module: Module, kernel: str, triple: str, chip: str, library: str, folder: Path
) -> str:
    """OpenCL C as LLVM's assembly for a GPU, which is PTX for NVIDIA's (ToolError).

    `library` is the file of libclc's functions, `folder` one for temporary files.
    """
    clang, functions = newest_clang(), LIBRARY / library
    if clang is None or not functions.exists():
        raise ToolError(f"this needs clang and libclc; on Debian: {CLANG_PACKAGES}")
    read, written = folder / "kernel.cl", folder / "kernel.s"
    read.write_bytes(module.content)
    library_options = ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(functions))
    target_options = ("-target", triple, "-Xclang", "-target-cpu", "-Xclang", chip, "-nogpulib")
    options = [*DEFAULTS, *module.options.split(), *library_options, *target_options]
    options += FLUSHED if "-cl-denorms-are-zero" in options else ()
    run([clang, *options, "-S", read, "-o", written], kernel)
    return written.read_text(encoding="utf-8")


def newest_clang() -> Path | None:
    """The newest Clang in PATH, as libclc must not be newer than it."""
    folders = [Path(name) for name in os.get_exec_path()]
    found = [
        (int(version[1]), path)
        for folder in folders
        for path in folder.glob("clang-*")
        if (version := re.fullmatch(r"clang-(\d+)", path.name))
    ]
    default = shutil.which("clang")
    return max(found)[1] if found else Path(default) if default else None


def count(pattern: str, text: str) -> int:
    """How many lines of an assembly begin with an instruction that matches."""
    return len(re.findall(rf"^\s*(?:{pattern})", text, re.MULTILINE))
