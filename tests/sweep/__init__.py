"""Generators of small graphs, a table for each kind of operator: what test_sweep.py runs."""

from .beforehand import GENERATORS as BEFOREHAND
from .blocks import GENERATORS as BLOCKS
from .draws import Generator
from .elementwise import GENERATORS as ELEMENTWISE
from .fused import GENERATORS as FUSED
from .moves import GENERATORS as MOVES
from .places import GENERATORS as PLACES
from .quantized import GENERATORS as QUANTIZED
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
    **QUANTIZED,
    **RECURRENT,
    **REDUCTIONS,
    **WINDOWS,
}
"""By operator, or by what is fused."""

_VARIABLES = "test_state.py: variables have no shapes or attributes of their own"
_SUBGRAPHS = "test_control_flow.py: what refers to subgraphs has no shapes of its own"
_UNKNOWN = "LiteRT's interpreter does not know it"

ELSEWHERE = {
    "ASSIGN_VARIABLE": _VARIABLES,
    "CALL_ONCE": _VARIABLES,
    "DENSIFY": "test_reader.py: the writer writes no sparse constants",
    "IF": _SUBGRAPHS,
    "LiteRtMaxUnpooling2D": f"test_unpool.py: {_UNKNOWN}",
    "MaxPoolingWithArgmax2D": f"test_unpool.py: {_UNKNOWN}",
    "MaxUnpooling2D": f"test_unpool.py: {_UNKNOWN}",
    "READ_VARIABLE": _VARIABLES,
    "Resampler": f"test_resampler.py: {_UNKNOWN}",
    "STABLEHLO_COMPOSITE": _SUBGRAPHS,
    "VAR_HANDLE": _VARIABLES,
    "WHILE": _SUBGRAPHS,
    "moe": "cases_expanded.py: its shapes all follow from a few sizes",
}
"""Operators without a generator: where they are tested, and why."""
