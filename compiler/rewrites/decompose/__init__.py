"""Operators are replaced by simpler ones until every operator has an implementation.

Modules with `@decomposes` functions register them on import; `decompose_operators` runs them.
"""

from importlib import import_module
from pkgutil import iter_modules

from .decomposition import Decomposition, decomposes

for _module in sorted(module.name for module in iter_modules(__path__)):
    import_module(f".{_module}", __name__)
