"""LiteRT's sets of kernels, which may give different results for the same model."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Literal

KernelSet = Literal["XNNPACK", "built-in", "reference"]
"""XNNPACK, which computes most of a model by default; LiteRT's own kernels, optimized; or its own
plain ones."""


def kernel_options(litert: ModuleType, kernels: KernelSet) -> dict[str, Any]:
    """The options of an interpreter of the module `litert` that runs these kernels."""
    kinds = litert.OpResolverType
    resolvers = {
        "XNNPACK": kinds.AUTO,
        "built-in": kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
        "reference": kinds.BUILTIN_REF,
    }
    return {"experimental_op_resolver_type": resolvers[kernels]}
