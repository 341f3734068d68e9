"""Vulkan GLSL to SPIR-V and on to Metal, by the Khronos group's own tools.

glslangValidator and spirv-cross are programs; both are needed only while compiling.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ...runtime.errors import TflgpuError
from ..errors import RenderError

PACKAGES = {"glslangValidator": "glslang-tools", "spirv-cross": "spirv-cross"}
"""Debian's package of each tool."""


class ToolError(TflgpuError):
    """A program the target needs is not installed; the text says which, and what to install."""


def assemble(source: str, file: str) -> bytes:
    """The SPIR-V module of a Vulkan compute shader (RenderError, naming `file`, if it is wrong)."""
    with tempfile.TemporaryDirectory() as folder:
        shader, module = Path(folder, "kernel.comp"), Path(folder, "kernel.spv")
        shader.write_text(source, encoding="utf-8")
        _run(["glslangValidator", "-V", "-S", "comp", str(shader), "-o", str(module)], file)
        return module.read_bytes()


def to_metal(module: bytes, file: str) -> str:
    """The Metal source of a SPIR-V module; its entry point is main0."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.spv")
        path.write_bytes(module)
        return _run(["spirv-cross", "--msl", str(path)], file)


def _run(command: Sequence[str], file: str) -> str:
    if shutil.which(command[0]) is None:
        raise ToolError(
            f"{command[0]} is needed for this target and not installed; on Debian: "
            f"apt install {PACKAGES[command[0]]}"
        )
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RenderError(f"{command[0]} refused {file}:\n{done.stdout}{done.stderr}")
    return done.stdout
