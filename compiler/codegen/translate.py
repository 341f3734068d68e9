"""Translation of kernels for Vulkan (SPIR-V beside the sources) and Metal (instead of them)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...runtime.plan.kernels import Companion, Kernel
from .spirv import assemble, to_metal

METAL_ENTRY = "main0"
"""Name that spirv-cross gives to the entry point."""


@dataclass(frozen=True)
class Translated:
    """Kernels with their sources and companion files, by file name."""

    kernels: tuple[Kernel, ...]
    sources: dict[str, str]
    companions: dict[str, bytes]

    @property
    def records(self) -> tuple[Companion, ...]:
        """The companions as the plan lists them."""
        files = self.companions.items()
        return tuple(Companion(file, hashlib.sha256(data).digest()) for file, data in files)


def translate(kernels: tuple[Kernel, ...], sources: Mapping[str, str], target: str) -> Translated:
    """The kernels and files in a target's form (ToolError if a program for it is missing)."""
    if target not in ("vulkan", "metal"):
        return Translated(kernels, dict(sources), {})
    needed = {kernel.file: kernel.extensions for kernel in kernels}
    modules = {
        file.removesuffix(".comp") + ".spv": assemble(text, file, needed[file])
        for file, text in sources.items()
    }
    if target == "vulkan":
        return Translated(kernels, dict(sources), modules)
    metal = {
        file.removesuffix(".spv") + ".metal": to_metal(module, file)
        for file, module in modules.items()
    }
    renamed = [
        replace(
            kernel,
            name=METAL_ENTRY,
            file=file,
            sha256=hashlib.sha256(metal[file].encode()).digest(),
            extensions=(),  # named as in Vulkan; every GPU with Metal computes in half
            bodies=(),
        )
        for kernel in kernels
        for file in [kernel.file.removesuffix(".comp") + ".metal"]
    ]
    return Translated(tuple(renamed), metal, {})
