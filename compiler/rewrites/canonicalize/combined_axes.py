"""Along which axes operators combine, choose or move entries, so that these are not independent."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from ...ir import Op
from ...ops.decomposed.recurrent import RECURRENT, batch_axis
from ...ops.reduce.reduce import REDUCTIONS, axes
from .fit_constants import TRANSPOSED

Combined = Iterable[tuple[int, int]]  # Positions of operands, each with an axis.


def _none(op: Op) -> Combined:
    return ()


def _image(op: Op) -> Combined:
    """All axes but the batch."""
    position = 2 if op.name in TRANSPOSED else 0
    return [(position, axis) for axis in range(1, len(op.operand(position).shape))]


def _joined(op: Op) -> Combined:
    return [(position, op.attrs.get("axis", 0)) for position in range(len(op.inputs))]


def _padded(op: Op) -> Combined:
    pairs = op.constant(1).reshape(-1, 2)
    return [(0, axis) for axis, pair in enumerate(pairs) if pair.any()]


def _stepped(op: Op) -> Combined:
    return [(0, axis) for axis in range(len(op.operand(0).shape)) if axis != batch_axis(op)]


def _multiplied(op: Op) -> Combined:
    return [(0, -2 if op.attrs.get("adj_x") else -1), (1, -1 if op.attrs.get("adj_y") else -2)]


# The operators, beside elementwise ones and views, that do the same along an axis of any size.
COMBINED: Mapping[str, Callable[[Op], Combined]] = {
    **dict.fromkeys(
        [
            *("ADD_N", "BATCH_TO_SPACE_ND", "COMPLEX_ABS", "EMBEDDING_LOOKUP", "IMAG", "PACK"),
            *("REAL", "SHAPE", "SLICE", "STRIDED_SLICE", "TILE", "TRANSPOSE"),
        ],
        _none,
    ),
    **dict.fromkeys(REDUCTIONS, lambda op: [(0, axis) for axis in axes(op)]),
    **dict.fromkeys(
        [
            *("FULLY_CONNECTED", "L2_NORMALIZATION", "LOCAL_RESPONSE_NORMALIZATION"),
            *("LOG_SOFTMAX", "SOFTMAX", "TOPK_V2"),
        ],
        lambda op: [(0, -1)],
    ),
    **dict.fromkeys(
        [
            *("AVERAGE_POOL_2D", "CONV_2D", "CONV_3D", "DEPTHWISE_CONV_2D", "DEPTH_TO_SPACE"),
            *("MAX_POOL_2D", "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "SPACE_TO_DEPTH"),
            *TRANSPOSED,
        ],
        _image,
    ),
    **dict.fromkeys(RECURRENT, _stepped),
    **dict.fromkeys(["MIRROR_PAD", "PAD", "PADV2"], _padded),
    "BATCH_MATMUL": _multiplied,
    "CONCATENATION": _joined,
    "CUMSUM": lambda op: [(0, int(op.number(1)))],
    "DYNAMIC_UPDATE_SLICE": lambda op: [(0, axis) for axis in range(len(op.operand(0).shape))],
    "RFFT2D": lambda op: [(0, -2), (0, -1)],
    "REVERSE_V2": lambda op: [(0, axis) for axis in op.integers(1)],
    "SPACE_TO_BATCH_ND": lambda op: [(0, axis) for axis, _ in enumerate(op.integers(1), start=1)],
    "UNPACK": lambda op: [(0, op.attrs.get("axis", 0))],
}


def combined_axes(op: Op) -> Iterator[tuple[int, int]]:
    """The operands' axes along which entries are not alike (UnsupportedError if computed)."""
    yield from COMBINED.get(op.name, _none)(op)
