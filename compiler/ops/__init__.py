"""The operators: one module each, or a table where they are alike. Importing registers them."""

from importlib import import_module
from pkgutil import iter_modules

from .base import OPS, Kernel, Launch, OpDef, define

for _module in sorted(module.name for module in iter_modules(__path__)):
    import_module(f".{_module}", __name__)

__all__ = ["OPS", "Kernel", "Launch", "OpDef", "define"]
