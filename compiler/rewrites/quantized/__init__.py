"""Quantized operators become float operators on centered integers, with every rounding explicit.

One module for each kind of operator. Importing registers them.
"""

from importlib import import_module
from pkgutil import iter_modules

from .lowering import LOWERINGS

for _module in sorted(module.name for module in iter_modules(__path__)):
    import_module(f".{_module}", __name__)
