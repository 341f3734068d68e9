"""Operators that are several simpler ones: one module for each kind. Importing registers them."""

from importlib import import_module
from pkgutil import iter_modules

from .decomposition import DECOMPOSITIONS, Decomposition, decomposes

for _module in sorted(module.name for module in iter_modules(__path__)):
    import_module(f".{_module}", __name__)

__all__ = ["DECOMPOSITIONS", "Decomposition", "decomposes"]
