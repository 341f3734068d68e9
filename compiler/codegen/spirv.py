"""Vulkan GLSL to SPIR-V, and SPIR-V to Metal, with the tools of the Khronos Group.

glslangValidator and spirv-cross are external programs, needed only at compile time.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

from ...runtime.errors import TflgpuError
from ..errors import RenderError
from ..scratch import scratch_folder

PACKAGES = {"glslangValidator": "glslang-tools", "spirv-cross": "spirv-cross"}
"""Debian's package of each tool."""


class ToolError(TflgpuError):
    """A program that the target needs is not installed; the message says how to install it."""


def assemble(source: str, file: str) -> bytes:
    """Compile a Vulkan compute shader to SPIR-V (RenderError that names `file`, ToolError)."""
    with scratch_folder() as folder:
        shader, module = folder / "kernel.comp", folder / "kernel.spv"
        shader.write_text(source, encoding="utf-8")
        _run(["glslangValidator", "-V", "-S", "comp", str(shader), "-o", str(module)], file)
        return module.read_bytes()


def to_metal(module: bytes, file: str) -> str:
    """Translate a SPIR-V module to Metal, with entry point main0 (RenderError, ToolError)."""
    with scratch_folder() as folder:
        path = folder / "kernel.spv"
        path.write_bytes(module)
        return _run(["spirv-cross", "--msl", str(path)], file)


def _run(command: Sequence[str], file: str) -> str:
    if shutil.which(command[0]) is None:
        raise ToolError(
            f"this target needs {command[0]}, which is not installed; on Debian: "
            f"apt install {PACKAGES[command[0]]}"
        )
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RenderError(f"{command[0]} failed on {file}:\n{done.stdout}{done.stderr}")
    return done.stdout
