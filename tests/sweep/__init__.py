"""Generators of small graphs, in a table for each kind of operator; test_sweep.py runs them."""

from .blocks import GENERATORS as BLOCKS
from .draws import Generator
from .elementwise import GENERATORS as ELEMENTWISE
from .folded import GENERATORS as FOLDED
from .fused import GENERATORS as FUSED
from .indices import GENERATORS as INDICES
from .moves import GENERATORS as MOVES
from .quantized import GENERATORS as QUANTIZED
from .recurrent import GENERATORS as RECURRENT
from .reductions import GENERATORS as REDUCTIONS
from .stablehlo import GENERATORS as STABLEHLO
from .windows import GENERATORS as WINDOWS

# By operator, or by what is fused.
GENERATORS: dict[str, Generator] = {
    **BLOCKS,
    **ELEMENTWISE,
    **FOLDED,
    **FUSED,
    **INDICES,
    **MOVES,
    **QUANTIZED,
    **RECURRENT,
    **REDUCTIONS,
    **STABLEHLO,
    **WINDOWS,
}

_VARIABLES = (
    "compiler/rewrites/decompose/test_resolve_variables.py",
    "variables have no shapes or attributes of their own",
)
_SUBGRAPHS = (
    "compiler/rewrites/canonicalize/test_resolve_control_flow.py",
    "operators with subgraphs have no shapes of their own",
)
_UNKNOWN = "LiteRT's interpreter does not know it"

_LISTS = ("compiler/rewrites/decompose/test_tensor_list.py", "LiteRT leaves lists to TensorFlow")

_SIZES = ("cases/composites.py", "its shapes all follow from a few sizes")

# Operators without a generator: the file below tests/ that tests them, and why.
ELSEWHERE: dict[str, tuple[str, str]] = {
    "ASSIGN_VARIABLE": _VARIABLES,
    "AudioSpectrogram": _SIZES,
    "CALL_ONCE": _VARIABLES,
    "DENSIFY": ("compiler/frontend/test_sparsity.py", "the writer writes no sparse constants"),
    "FlexErf": ("cases/unary.py", _UNKNOWN),
    "FlexTensorListReserve": _LISTS,
    "FlexTensorListSetItem": _LISTS,
    "FlexTensorListStack": _LISTS,
    "IF": _SUBGRAPHS,
    "gated_delta_update": ("cases/composites.py", _UNKNOWN),
    "LiteRtMaxUnpooling2D": ("compiler/ops/test_unpool.py", _UNKNOWN),
    "MaxPoolingWithArgmax2D": ("compiler/ops/test_unpool.py", _UNKNOWN),
    "MaxUnpooling2D": ("compiler/ops/test_unpool.py", _UNKNOWN),
    "Mfcc": _SIZES,
    "READ_VARIABLE": _VARIABLES,
    "Resampler": ("compiler/ops/test_resampler.py", _UNKNOWN),
    "STABLEHLO_CASE": ("compiler/rewrites/canonicalize/test_select_branch.py", _SUBGRAPHS[1]),
    "STABLEHLO_COMPARE": ("cases/stablehlo.py", _UNKNOWN),
    "STABLEHLO_COMPOSITE": (
        "compiler/rewrites/canonicalize/test_inline_subgraphs.py",
        _SUBGRAPHS[1],
    ),
    "STABLEHLO_CONVOLUTION": ("cases/stablehlo_convolutions.py", _UNKNOWN),
    "STABLEHLO_DYNAMIC_SLICE": ("cases/stablehlo_windows.py", _UNKNOWN),
    "STABLEHLO_DYNAMIC_UPDATE_SLICE": ("cases/stablehlo_windows.py", _UNKNOWN),
    "STABLEHLO_IOTA": ("cases/stablehlo.py", _UNKNOWN),
    "STABLEHLO_SORT": ("cases/sorts.py", _UNKNOWN),
    "VAR_HANDLE": _VARIABLES,
    "WHILE": _SUBGRAPHS,
    "aeq.hadamard_rotation": _SIZES,
    "moe": _SIZES,
}
