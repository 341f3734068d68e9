"""Compilers of GPUs, which need no GPU: what each makes of a model's kernels.

Their figures are static: a loop counts once, and so does each side of a branch.
"""

from .compilers import COMPILERS, Compiler
from .record import MachineCode, Module

__all__ = ["COMPILERS", "Compiler", "MachineCode", "Module"]
