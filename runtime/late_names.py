"""Names of a package that are imported on first use."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def late_names(package: str, given: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """`__getattr__` of a package that gives these names, by the module below it that has them."""
    homes = {name: module for module, names in given.items() for name in names}

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return find
