"""Intel's offline compiler ocloc, for kernels in OpenCL C. It is that of Intel's OpenCL driver."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from ...codegen.translate import ToolError
from ...scratch import scratch_folder
from .programs import MachineCode, Module, count, run

CHIP = "dg2"  # Xe-HPG, as in the Arc A770.
# What an execution unit has: threads, which run vectors, and registers for all of them.
THREADS, FILE = 8, 1024


def compile_modules(modules: Mapping[str, Module]) -> dict[str, MachineCode]:
    """What ocloc makes of kernels in OpenCL C (ToolError)."""
    if shutil.which("ocloc") is None:
        raise ToolError(
            "ocloc is not installed; on Debian: apt install intel-opencl-icd (or intel-ocloc)"
        )
    return {name: _compile(module, name) for name, module in modules.items()}


def _compile(module: Module, name: str) -> MachineCode:
    with scratch_folder() as folder:
        source, dumps = folder / "kernel.cl", folder / "dumps"
        source.write_bytes(module.content)
        # Intel's graphics compiler writes its assembly into a folder named in the environment.
        environment = {"IGC_ShaderDumpEnable": "1", "IGC_DumpToCustomDir": str(dumps)}
        options = ("-device", CHIP, "-q", *(("-options", module.options) if module.options else ()))
        run(["ocloc", "compile", "-file", source, "-out_dir", folder, *options], name, environment)
        found = sorted(dumps.glob("*_simd*.asm"))
        if not found:
            raise ToolError(f"ocloc wrote no assembly of {name} to {dumps}")
        return read_assembly(found[-1])


def read_assembly(path: Path) -> MachineCode:
    """The figures in an assembly file, whose name has the width of its vectors."""
    text = path.read_text(encoding="utf-8", errors="replace")
    code = "\n".join(line for line in text.splitlines() if not line.startswith("//")).strip()
    registers = re.search(r"numGRF=(\d+)", text)
    spilled = re.search(r"^//\.spill size (\d+)", text, re.MULTILINE)
    width = re.search(r"_simd(\d+)", path.name)
    if registers is None or width is None:
        raise ToolError(f"{path.name} does not state its registers, or its name no width")
    uniform = r"\(W\) +(?:\(\S+\) +)?"
    return MachineCode(
        registers=int(registers[1]),
        spills=int(spilled[1]) if spilled else 0,
        lanes=int(width[1]),
        waves=min(THREADS, FILE // int(registers[1])),
        instructions=count(r"(?:\([^)]*\) +)*[a-z][\w.]* +\(\d+\|M\d+\)", code),
        branches=count(r"(?:\([^)]*\) +)*(?:jmpi|while|if|else|goto|brc|brd|call)\b", code),
        loads=count(r"send\S* .* (?:read|load)", code),
        uniform_loads=count(rf"{uniform}send\S* .* (?:read|load)", code),
        multiply_adds=count(r"(?:\([^)]*\) +)*mad\b.*:f\b", code),
        text=code,
    )
