"""Generators of small graphs, a table for each kind of operator: what test_sweep.py runs."""

from .beforehand import GENERATORS as BEFOREHAND
from .blocks import GENERATORS as BLOCKS
from .draws import Generator
from .elementwise import GENERATORS as ELEMENTWISE
from .fused import GENERATORS as FUSED
from .moves import GENERATORS as MOVES
from .places import GENERATORS as PLACES
from .recurrent import GENERATORS as RECURRENT
from .reductions import GENERATORS as REDUCTIONS
from .windows import GENERATORS as WINDOWS

GENERATORS: dict[str, Generator] = {
    **BEFOREHAND,
    **BLOCKS,
    **ELEMENTWISE,
    **FUSED,
    **MOVES,
    **PLACES,
    **RECURRENT,
    **REDUCTIONS,
    **WINDOWS,
}
"""By operator, or by what is fused."""

ELSEWHERE = {
    "DENSIFY": "test_reader.py: the writer writes no sparse constants",
    "IF": "test_control_flow.py: it has no shapes or attributes of its own",
    "MaxPoolingWithArgmax2D": "test_unpool.py: LiteRT does not know it",
    "MaxUnpooling2D": "test_unpool.py: LiteRT does not know it",
    "STABLEHLO_COMPOSITE": "test_control_flow.py: it has no shapes or attributes of its own",
    "WHILE": "test_control_flow.py: it has no shapes or attributes of its own",
}
"""Operators without a generator: where they are tested, and why."""
