"""Running the programs that compilers of GPUs are, and compiling OpenCL C with Clang."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...codegen.spirv import ToolError

LIBRARY = Path("/usr/lib/clc")
"""Where Debian's libclc lies: the functions of OpenCL C for each kind of GPU."""
CLANG_PACKAGES = "apt install clang-19 libclc-19"
OPTIONS = ("-x", "cl", "-cl-std=CL1.2", "-O3", "-cl-mad-enable", "-Wno-linker-warnings")
SAID = 2000
"""Most characters of a program's messages that are repeated."""


def run(command: Sequence[str | Path], kernel: str, told: Mapping[str, str] | None = None) -> str:
    """What a program prints, with `told` in its environment (ToolError that names the kernel)."""
    done = subprocess.run(
        [str(word) for word in command],
        env={**os.environ, **(told or {})},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        said = (done.stdout + done.stderr)[-SAID:]
        raise ToolError(f"{Path(command[0]).name} failed on {kernel}:\n{said}")
    return done.stdout + done.stderr


def compile_to_assembly(
    source: bytes, kernel: str, triple: str, chip: str, library: str, folder: Path
) -> str:
    """OpenCL C as LLVM's assembly for a GPU, which is PTX for NVIDIA's (ToolError).

    `library` is the file of libclc's functions, `folder` one for temporary files.
    """
    clang, functions = _clang(), LIBRARY / library
    if clang is None or not functions.exists():
        raise ToolError(f"this needs clang and libclc; on Debian: {CLANG_PACKAGES}")
    read, written = folder / "kernel.cl", folder / "kernel.s"
    read.write_bytes(source)
    linked = ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", functions)
    aimed = ("-target", triple, "-Xclang", "-target-cpu", "-Xclang", chip, "-nogpulib")
    run([clang, *OPTIONS, *linked, *aimed, "-S", read, "-o", written], kernel)
    return written.read_text(encoding="utf-8")


def _clang() -> Path | None:
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
