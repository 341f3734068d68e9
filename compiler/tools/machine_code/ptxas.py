"""NVIDIA's compiler ptxas, for kernels in OpenCL C that Clang has compiled to PTX.

NVIDIA's OpenCL driver has a front end of its own, but the same compiler from PTX to machine code.
"""

import re
import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from math import prod
from pathlib import Path

from ...codegen.translate import ToolError
from ...scratch import scratch_folder
from .programs import CLANG_PACKAGES, MachineCode, Module, compile_to_assembly, run

# Ampere, as in the GeForce RTX 3080. For its limits see the CUDA C++ Programming Guide, table of
# technical specifications for compute capability 8.6.
CHIP = "sm_86"
WARPS, GROUPS, REGISTERS = 48, 16, 65536  # What fits on a multiprocessor at once.
REGISTER_UNIT = 8  # Registers of a work-item are handed out in such units.
WARP = 32
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ +)?(\w[\w.]*)(.*?);")
# A branch to itself, which ends a program that has ended before.
ENDLESS = re.compile(r"^(\.L\w+):\n.*BRA `\(\1\)", re.MULTILINE)
PACKAGES = ("nvidia-cuda-nvcc", "nvidia-cuda-nvdisasm")  # PyPI's packages of the programs.


def compile_modules(modules: Mapping[str, Module]) -> dict[str, MachineCode]:
    """What ptxas makes of kernels in OpenCL C (ToolError)."""
    ptxas, nvdisasm = _program("ptxas"), _program("nvdisasm")
    return {name: _compile(ptxas, nvdisasm, module, name) for name, module in modules.items()}


def _program(name: str) -> Path:
    """A program of the CUDA toolkit: in PATH, or from a package of PyPI."""
    found = shutil.which(name)
    if found:
        return Path(found)
    packages = find_spec("nvidia")
    for folder in (packages.submodule_search_locations or ()) if packages else ():
        for path in Path(folder).glob(f"*/bin/{name}"):
            return path
    raise ToolError(
        f"ptxas needs NVIDIA's {name}, clang and libclc; on Debian: {CLANG_PACKAGES}, "
        f"then: pip install {' '.join(PACKAGES)}"
    )


def _compile(ptxas: Path, nvdisasm: Path, module: Module, name: str) -> MachineCode:
    with scratch_folder() as folder:
        compile_to_assembly(
            module, name, "nvptx64-nvidia-nvcl", CHIP, "nvptx64--nvidiacl.bc", folder
        )
        binary = folder / "kernel.cubin"
        report = run([ptxas, "-v", f"-arch={CHIP}", folder / "kernel.s", "-o", binary], name)
        text = run([nvdisasm, "-c", binary], name)
    return read_listing(report, text, prod(module.group))


def read_listing(report: str, text: str, group: int) -> MachineCode:
    """The figures in ptxas' report and in nvdisasm's text, for groups of so many work-items."""
    registers = int(_found(r"Used (\d+) registers", report)[1])
    # Spilled registers are on the stack, and so are arrays whose index is not known.
    spills = int(_found(r"(\d+) bytes stack frame", report)[1])
    # What follows the last instruction is filled with NOPs.
    instructions = [found for found in INSTRUCTION.findall(text) if found[0] != "NOP"]
    names = [name.split(".")[0] for name, _ in instructions]
    loads = [(name, operands) for name, operands in instructions if name.startswith(("LDG", "LD."))]
    warps = -(-group // WARP)
    per_warp = -(-registers // REGISTER_UNIT) * REGISTER_UNIT * WARP
    groups = min(GROUPS, WARPS // warps, REGISTERS // (per_warp * warps))
    return MachineCode(
        registers=registers,
        spills=spills,
        lanes=WARP,
        waves=groups * warps,
        instructions=len(instructions),
        branches=sum(name in ("BRA", "CALL") for name in names) - len(ENDLESS.findall(text)),
        loads=len(loads),
        uniform_loads=sum(name == "ULDC" or name.startswith("LDCU") for name in names),
        multiply_adds=sum(name in ("FFMA", "HFMA2", "FFMA2") for name in names),
        text=text,
    )


def _found(pattern: str, report: str) -> re.Match[str]:
    found = re.search(pattern, report)
    if found is None:
        raise ToolError(f"ptxas does not state what tflgpu looks for ({pattern}):\n{report}")
    return found
