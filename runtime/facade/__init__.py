"""tflgpu: compile TensorFlow Lite models to GPU kernels ahead of time, load and run the result.

`compile` and `load` are imported when first used, so that an application that only loads a plan
never imports the compiler.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tflgpu.compiler import compile
    from tflgpu.runtime import load

__all__ = ["compile", "load"]


def __getattr__(name: str) -> Any:
    if name == "compile":
        from tflgpu.compiler import compile

        return compile
    if name == "load":
        from tflgpu.runtime import load

        return load
    raise AttributeError(f"module 'tflgpu' has no attribute {name!r}")
