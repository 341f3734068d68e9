"""Generators of quantized graphs, whose results are LiteRT's to the last bit."""

from ..draws import Generator
from .layers import GENERATORS as LAYERS
from .moves import GENERATORS as MOVES
from .values import GENERATORS as VALUES

# By "quantized" and an operator, or what some of them have in common.
GENERATORS: dict[str, Generator] = {**LAYERS, **MOVES, **VALUES}

__all__ = ["GENERATORS"]
