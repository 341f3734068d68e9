"""LLVM's compiler for AMD's GPUs, for kernels in OpenCL C. It is that of ROCm."""

import re
from collections.abc import Mapping

from ...codegen.translate import ToolError
from ...scratch import scratch_folder
from .programs import MachineCode, Module, compile_to_assembly, count

CHIP = "gfx1030"  # RDNA 2, as in the Radeon RX 6800.


def compile_modules(modules: Mapping[str, Module]) -> dict[str, MachineCode]:
    """What LLVM makes of kernels in OpenCL C (ToolError)."""
    return {name: _compile(module, name) for name, module in modules.items()}


def _compile(module: Module, name: str) -> MachineCode:
    with scratch_folder() as folder:
        text = compile_to_assembly(
            module, name, "amdgcn-amd-amdhsa", CHIP, "amdgcn--amdhsa.bc", folder
        )
    return read_assembly(text, name)


def read_assembly(text: str, name: str) -> MachineCode:
    """The figures in LLVM's assembly; ToolError if they are not there."""
    # Functions come before the kernel, which contains them, too.
    entry = re.search(r"\.amdhsa_kernel (\w+)", text)
    text = text[max(text.find(f"\n{entry[1]}:"), 0) :] if entry else text

    def figure(label: str) -> int:
        found = re.search(rf"(?:; {label}:|\.{label}) +(\d+)", text)
        if found is None:
            raise ToolError(f"clang's assembly of {name} does not state {label}")
        return int(found[1])

    code = text.split(".section", 1)[0]
    return MachineCode(
        registers=figure("NumVgprs"),
        spills=figure("ScratchSize"),
        lanes=32 if figure("amdhsa_wavefront_size32") else 64,
        waves=figure("Occupancy"),
        instructions=count(r"[a-z]\w+[ \n]", code),
        branches=count(r"s_cbranch", code),
        loads=count(r"(?:global|flat|buffer)_load", code),
        uniform_loads=count(r"s_(?:buffer_)?load", code),
        multiply_adds=count(r"v_(?:dual_|pk_)?(?:fma|fmac|mac|mad)\w*_f", code),
        text=code,
    )
