"""The Python interface of LiteRT, on tflgpu.

    from tflgpu.litert import Interpreter

replaces the import of `Interpreter` from `ai_edge_litert.interpreter`, `tflite_runtime.interpreter`
or `tf.lite`; the rest of a script stays as it is. Models are compiled when tensors are allocated,
into the user's cache folder, and loaded from there the next time. docs/litert.md lists what each
method does here.
"""

from __future__ import annotations

from .compiled_model import CompiledModel
from .interpreter import Interpreter, OpResolverType, SignatureRunner
from .options import (
    CpuKernelMode,
    CpuOptions,
    Delegate,
    Environment,
    EnvironmentOptions,
    GpuOptions,
    HardwareAccelerator,
    Options,
    load_delegate,
)
from .tensor_buffer import TensorBuffer

__all__ = [
    "CompiledModel",
    "CpuKernelMode",
    "CpuOptions",
    "Delegate",
    "Environment",
    "EnvironmentOptions",
    "GpuOptions",
    "HardwareAccelerator",
    "Interpreter",
    "OpResolverType",
    "Options",
    "SignatureRunner",
    "TensorBuffer",
    "load_delegate",
]
