"""The Python interface of LiteRT, on tflgpu.

    from tflgpu.litert import Interpreter

replaces the import of `Interpreter` from `ai_edge_litert.interpreter`, `tflite_runtime.interpreter`
or `tf.lite`; the rest of a script stays as it is. Models are compiled when tensors are allocated,
into the user's cache folder, and loaded from there the next time. docs/litert.md lists what each
method does here.
"""

from __future__ import annotations

from .delegates import Delegate, load_delegate
from .interpreter import Interpreter, OpResolverType
from .signature_runner import SignatureRunner

__all__ = [
    "Delegate",
    "Interpreter",
    "OpResolverType",
    "SignatureRunner",
    "load_delegate",
]
