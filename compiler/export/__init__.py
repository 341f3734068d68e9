"""Compiled models as C99 projects that need no Python: tables for the model, a fixed runtime."""

from .project import export
from .tables import RUNTIMES

__all__ = ["RUNTIMES", "export"]
