"""The module with LiteRT's interpreter."""

from __future__ import annotations

from functools import cache
from types import ModuleType


def interpreter_module() -> ModuleType:
    """LiteRT's module as the first call found it (ImportError if that found none).

    `tflgpu.litert` gives the module's name to another one while it runs a script.
    """
    found = _imported()
    if isinstance(found, ImportError):
        raise ImportError(str(found), name=found.name) from found
    return found


@cache
def _imported() -> ModuleType | ImportError:
    try:
        from ai_edge_litert import interpreter
    except ImportError as error:
        return error
    module: ModuleType = interpreter
    return module
