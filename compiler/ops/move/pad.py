"""PAD with zeros, PADV2 with a value, MIRROR_PAD with mirrored entries."""

from ...ir import Op, Shape
from ..base.traits import Permutable, Traits, always, among_operands
from .affine_moves import Axis, Move
from .move import define_move


def paddings(op: Op) -> list[tuple[int, int]]:
    """Entries added before and after each axis (ModelError unless there is a pair per axis)."""
    shape = op.operand(0).shape
    table = op.constant(1)
    if table.size != 2 * len(shape):
        raise op.invalid(f"paddings of shape {list(table.shape)} do not fit {list(shape)}")
    if (table < 0).any():
        raise op.invalid(f"the paddings {table.tolist()} must not be negative")
    return [(int(before), int(after)) for before, after in table.reshape(-1, 2)]


def fill(op: Op) -> float:
    """The value of the added entries; PAD uses the zero point for a quantized tensor."""
    if op.input(2) is not None:
        return float(op.number(2))
    quantization = op.operand(0).quantization
    return float(quantization.zero_point[0]) if quantization else 0.0


def _moves(op: Op) -> list[Move]:
    axes = tuple(Axis(i, -before) for i, (before, _) in enumerate(paddings(op)))
    return [Move(_padded(op), axes, fill(op))]


def _mirrored(op: Op) -> list[Move]:
    """Mirrored entries include the edge itself if the mode is SYMMETRIC (ModelError)."""
    shape, pads = op.operand(0).shape, paddings(op)
    fold = "symmetric" if op.attrs.get("mode", "REFLECT") == "SYMMETRIC" else "reflect"
    for size, pair in zip(shape, pads, strict=True):
        if max(pair) > size - (fold == "reflect"):
            raise op.invalid(f"an axis of {size} is too short for {max(pair)} mirrored entries")
    axes = [
        Axis(i, -before, 1, fold if before or after else "")
        for i, (before, after) in enumerate(pads)
    ]
    return [Move(_padded(op), tuple(axes))]


def _padded(op: Op) -> Shape:
    sizes = zip(op.operand(0).shape, paddings(op), strict=True)
    return tuple(size + before + after for size, (before, after) in sizes)


_TRAITS = Traits(always, permutable=Permutable(per_axis=(1,), unit=(0,)), range=among_operands)

for _signature, _found, _versions in (
    ("MIRROR_PAD x:T paddings:integer -> y:T", _mirrored, 3),
    ("PAD x:T paddings:integer -> y:T", _moves, 6),
    ("PADV2 x:T paddings:integer fill:T -> y:T", _moves, 6),
):
    define_move(_signature, _found, lambda op: [_padded(op)], 0, _versions, _TRAITS)
