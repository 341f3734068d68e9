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
LEAST = "vulkan1.0"
ENVIRONMENTS = {"VK_SUBGROUP_FEATURE_ARITHMETIC_BIT": "vulkan1.1"}
"""The version of Vulkan that has what a device must have, if not the least."""
METAL_VERSION = "20100"
"""Metal 2.1, the first with arithmetic of sub-groups."""


class ToolError(TflgpuError):
    """A program that the target needs is not installed; the message says how to install it."""


def assemble(source: str, file: str, extensions: Sequence[str] = ()) -> bytes:
    """Compile a Vulkan compute shader, which needs those extensions of devices, to SPIR-V.

    RenderError that names `file`, ToolError.
    """
    environment = max([ENVIRONMENTS.get(each, LEAST) for each in extensions], default=LEAST)
    with scratch_folder() as folder:
        shader, module = folder / "kernel.comp", folder / "kernel.spv"
        shader.write_text(source, encoding="utf-8")
        command = ["glslangValidator", "-V", "--target-env", environment, "-S", "comp"]
        _run([*command, str(shader), "-o", str(module)], file)
        return module.read_bytes()


def to_metal(module: bytes, file: str) -> str:
    """Translate a SPIR-V module to Metal, with entry point main0 (RenderError, ToolError)."""
    with scratch_folder() as folder:
        path = folder / "kernel.spv"
        path.write_bytes(module)
        return _run(["spirv-cross", "--msl", "--msl-version", METAL_VERSION, str(path)], file)


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
