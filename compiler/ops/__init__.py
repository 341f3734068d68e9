"""Every operator: shape inference, implementations and the numpy reference; no pass lives here.

Each module defines one operator or a table of similar ones, and registers them on import; `base` is
their vocabulary. Input is an `Op` and a `Target`; output are the `Launch`es that compute it.
"""

from collections.abc import Callable
from importlib import import_module
from pkgutil import walk_packages

from .base.definition import OPS, Implementation, OpDef, define
from .base.launch import Launch
from .base.traits import Traits

for _module in sorted(module.name for module in walk_packages(__path__, f"{__name__}.")):
    import_module(_module)


def operators_with(condition: Callable[[Traits], object]) -> frozenset[str]:
    """The names of all operators whose traits satisfy a condition."""
    return frozenset(name for name, row in OPS.items() if condition(row.traits))


# Operators whose output holds the elements of their input in the same order.
RESHAPES = operators_with(lambda traits: traits.reshapes)
