"""The module with LiteRT's interpreter."""

from __future__ import annotations

from types import ModuleType

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
