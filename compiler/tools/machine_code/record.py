"""A kernel before and after a GPU's compiler."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Module:
    """A kernel as a compiler takes it."""

    content: bytes
    """SPIR-V, or a source in OpenCL C."""
    parameters: int
    """Buffers that it takes."""
    group: tuple[int, int, int]
    """Work-items of a work-group along each axis."""


@dataclass(frozen=True)
class MachineCode:
    """A kernel as a compiler makes it."""

    registers: int
    """Vector registers of a work-item; on Intel of a sub-group."""
    spills: int
    """Registers that do not fit, or bytes of memory used in their place."""
    lanes: int
    """Work-items that run in lockstep: a wave, warp or vector."""
    waves: int
    """How many of these fit at once on a SIMD (AMD), a multiprocessor (NVIDIA) or an execution unit
    (Intel); more hide more latency."""
    instructions: int
    branches: int
    loads: int
    """Loads from global memory by each lane."""
    uniform_loads: int
    """Loads by a wave as a whole."""
    multiply_adds: int
    text: str
    """The machine code in the compiler's assembly language."""
