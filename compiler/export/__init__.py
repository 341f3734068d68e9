"""Compiled models as C99 projects that need no Python: tables for the model, a fixed runtime."""

from .project import BACKENDS, export

__all__ = ["BACKENDS", "export"]
