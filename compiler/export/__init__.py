"""Compiled models without Python: tables for the model, a fixed runtime in C99 or JavaScript."""

from .project import export
from .tables import BACKENDS
from .web_page import Pictures
