"""Every operator: shape inference, implementations and the numpy reference; no pass lives here.

Each module defines one operator or a table of similar ones, and registers them on import. Input is
an `Op` and a `Target`; output are the `Launch`es that compute it.
"""

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

from .base.definition import OPS, Implementation, OpDef, define
from .base.launch import Launch
from .base.traits import Traits

for _module in sorted(module.name for module in iter_modules(__path__) if not module.ispkg):
    import_module(f".{_module}", __name__)


def operators_with(condition: Callable[[Traits], object]) -> frozenset[str]:
    """The names of all operators whose traits satisfy a condition."""
    return frozenset(name for name, row in OPS.items() if condition(row.traits))


# Operators whose output holds the elements of their input in the same order.
RESHAPES = operators_with(lambda traits: traits.reshapes)
