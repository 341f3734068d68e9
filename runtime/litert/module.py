"""The module with LiteRT's interpreter, its sets of kernels, and its tensors as arrays."""

from collections.abc import Mapping
from types import ModuleType
from typing import Any, Literal

import numpy as np

from ..launch.memory import Array

_kept: list[ModuleType | ImportError] = []


def interpreter_module() -> ModuleType:
    """LiteRT's module (ImportError if it is not installed)."""
    found = _kept[0] if _kept else _imported()
    if isinstance(found, ImportError):
        raise ImportError(str(found), name=found.name) from found
    return found


def keep_interpreter_module() -> None:
    """Let `interpreter_module` find what it finds now, whatever takes the module's name later."""
    if not _kept:
        _kept.append(_imported())


def _imported() -> ModuleType | ImportError:
    try:
        from ai_edge_litert import interpreter
    except ImportError as error:
        return error
    module: ModuleType = interpreter
    return module


# XNNPACK, which computes most of a model by default; LiteRT's own kernels, optimized; or its own
# plain ones.
KernelSet = Literal["XNNPACK", "built-in", "reference"]


def kernel_options(litert: ModuleType, kernels: KernelSet) -> dict[str, Any]:
    """The options of an interpreter of the module `litert` that runs these kernels."""
    kinds = litert.OpResolverType
    resolvers = {
        "XNNPACK": kinds.AUTO,
        "built-in": kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
        "reference": kinds.BUILTIN_REF,
    }
    return {"experimental_op_resolver_type": resolvers[kernels]}


def array_of(interpreter: Any, item: Mapping[str, Any]) -> Array:
    """The numbers of a tensor, given by its details.

    LiteRT hands out no empty tensor, and for one of rank 0 a number that is no array.
    """
    if 0 in item["shape"]:
        return np.empty(item["shape"], item["dtype"])
    return np.asarray(interpreter.get_tensor(item["index"]))
