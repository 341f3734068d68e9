"""Convolutions of volumes: their windows and shapes.

`rewrites/decompose/` makes CONV_3D a CONV_2D, and CONV_3D_TRANSPOSE a TRANSPOSE_CONV or a CONV_3D.
x [batch, depth, rows, columns, inputs], weights [depth, rows, columns, inputs, outputs], those of
CONV_3D_TRANSPOSE [depth, rows, columns, outputs, inputs].
"""

from dataclasses import dataclass
from math import prod

from ...ir import Op, Shape
from ..base.definition import define
from ..base.window import Along, padding_along
from ..layers.weights import check_bias


def walks(op: Op) -> list[Along]:
    """The window along depth, rows and columns (ModelError if it is invalid or does not fit)."""
    result = []
    for axis, letter in enumerate("dhw"):
        extent, size = op.operand(0).shape[1 + axis], op.operand(1).shape[axis]
        stride = int(op.attrs.get(f"stride_{letter}", 1))
        dilation = int(op.attrs.get(f"dilation_{letter}_factor", 1))
        if min(stride, dilation, size) < 1:
            raise op.invalid(
                f"window size {size}, stride {stride} and dilation {dilation} must be at least 1"
            )
        padding = padding_along(op, axis, extent, size, stride, dilation)
        along = Along(extent, size, stride, dilation, *padding)
        if along.count < 1:
            raise op.invalid(f"a window of {along.reach} does not fit an axis of {extent}")
        result.append(along)
    return result


def _infer(op: Op) -> list[Shape]:
    source, weights = op.operand(0).shape, op.operand(1).shape
    if len(source) != 5 or len(weights) != 5 or source[4] != weights[3] or not prod(weights):
        raise op.invalid(
            f"input {list(source)} and weights {list(weights)} must have rank 5 and the same "
            f"number of input channels"
        )
    check_bias(op, weights[4])
    return [(source[0], *(walk.count for walk in walks(op)), weights[4])]


@dataclass(frozen=True)
class Transposed:
    """One axis of a transposed window: output = source * stride + step * dilation - before."""

    size: int
    stride: int
    dilation: int
    padding: str
    extent: int
    output: int

    @property
    def before(self) -> int:
        if self.padding == "VALID":
            return 0
        last = (-(-self.output // self.stride) - 1) * self.stride
        return max(last + self._reach + 1 - self.output, 0) // 2

    @property
    def _reach(self) -> int:
        return (self.size - 1) * self.dilation

    @property
    def around(self) -> tuple[int, int]:
        """Zeros before and after the input, if there are `stride` - 1 behind each element."""
        first = self._reach - self.before
        return first, self.output + self._reach - first - self.extent * self.stride

    @property
    def flat(self) -> bool:
        """Whether TRANSPOSE_CONV computes the same along an axis of an image."""
        as_many = self.padding == "VALID" or -(-self.output // self.stride) == self.extent
        return self.dilation == 1 and as_many

    def steps(self, phase: int) -> list[tuple[int, int]]:
        """The steps of the window that an output takes, and the source of each.

        Those of the output `stride` after it lie one after these.
        """
        places = [(step, phase + self.before - step * self.dilation) for step in range(self.size)]
        return [(step, at // self.stride) for step, at in places if at % self.stride == 0]

    @property
    def steps_in_each_phase(self) -> bool:
        return all(self.steps(phase) for phase in range(self.stride))


def transposed(op: Op) -> list[Transposed]:
    """The window of CONV_3D_TRANSPOSE along depth, rows and columns (ModelError)."""
    found = []
    padding, outputs = str(op.attrs.get("padding", "SAME")), op.constant(0).reshape(-1)
    for axis, letter in enumerate("dhw"):
        stride = int(op.attrs.get(f"stride_{letter}", 1))
        dilation = int(op.attrs.get(f"dilation_{letter}_factor", 1))
        if min(stride, dilation) < 1:
            raise op.invalid(f"stride {stride}, dilation {dilation}")
        size, extent = op.operand(1).shape[axis], op.operand(2).shape[1 + axis]
        output = int(outputs[1 + axis])
        found.append(Transposed(size, stride, dilation, padding, extent, output))
    return found


def _infer_transpose(op: Op) -> list[Shape]:
    shape = tuple(op.integers(0))
    weights, source = op.operand(1).shape, op.operand(2).shape
    fits = len(shape) == len(weights) == len(source) == 5 and prod(weights) > 0
    if not fits or (shape[0], *weights[3:]) != (source[0], shape[4], source[4]):
        raise op.invalid(
            f"input {list(source)} and weights {list(weights)} do not give the shape {list(shape)}"
        )
    check_bias(op, shape[4], 3)
    transposed(op)
    return [shape]


define("CONV_3D input filter:weights bias? -> output", _infer, note="becomes CONV_2D")
define(
    "CONV_3D_TRANSPOSE shape:integer filter:weights input bias? -> output",
    _infer_transpose,
    note="becomes TRANSPOSE_CONV or CONV_3D; the output's shape must be a constant",
)
