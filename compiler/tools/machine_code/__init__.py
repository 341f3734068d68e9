"""Compilers of GPUs, which need no GPU: what each makes of a model's kernels.

Their figures are static: a loop counts once, and so does each side of a branch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from . import amdgcn, ocloc, ptxas, radv
from .programs import MachineCode, Module


@dataclass(frozen=True)
class Compiler:
    name: str
    description: str
    chip: str  # The GPU that it compiles for, by its own name for it.
    target: str  # The target whose kernels it takes.
    # What it makes of kernels, by name. ToolError if it is not installed, with a line on how to
    # install it, or if it fails.
    compile: Callable[[Mapping[str, Module]], dict[str, MachineCode]]


COMPILERS = {
    compiler.name: compiler
    for compiler in (
        Compiler("radv", "Mesa's for AMD", radv.FAMILY, "vulkan", radv.compile_modules),
        Compiler("amdgcn", "LLVM's for AMD", amdgcn.CHIP, "opencl", amdgcn.compile_modules),
        Compiler("ptxas", "NVIDIA's", ptxas.CHIP, "opencl", ptxas.compile_modules),
        Compiler("ocloc", "Intel's", ocloc.CHIP, "opencl", ocloc.compile_modules),
    )
}
