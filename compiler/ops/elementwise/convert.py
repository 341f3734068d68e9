"""tflgpu.to_sliced and tflgpu.to_linear: conversions of a tensor between the two storages."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from ...ir import Op
from ...target import Target
from ..base.definition import Implementation, define
from ..base.launch import Launch, sliced_grid
from ..base.shapes import same_as_first
from ..base.storage import HALF_LANE, LINEAR, SLICED, bhwc, lane_of

TO_SLICED = "tflgpu.to_sliced"
TO_LINEAR = "tflgpu.to_linear"


def _same_bytes(op: Op, target: Target) -> str | None:
    """Why the conversion needs a kernel; None if both storages hold the same bytes."""
    shape = op.output.shape
    lane = lane_of(op.output, target)
    if lane == HALF_LANE:
        return f"slices are stored as {lane.dtype}"
    if op.output.whole is not None and op.output.whole.signed:
        return "only row-major integers have a sign"
    if len(shape) > 4:
        return "rank is above 4"
    batch, height, width, channels = bhwc(shape)
    tail = channels % target.lanes
    if channels == target.lanes or (height * width == 1 and not tail):
        return None
    if op.name == TO_LINEAR and batch * height * width == 1:
        return None  # the zeros past the last channel are not part of the row-major tensor
    return "the two storages order the elements differently"


def _view(op: Op, target: Target) -> Sequence[Launch]:
    return []


def _kernel(template: str, reads: str, writes: str) -> Implementation:
    def build(op: Op, target: Target) -> Launch:
        shape = op.output.shape
        tensors = {"x": op.operand(0)}, {"y": op.output}
        return Launch(
            template,
            sliced_grid(shape, target, flatten=True),
            *tensors,
            batches=bhwc(shape)[0],
            flatten=True,
        )

    name = PurePosixPath(template).stem
    return Implementation(name, build, reads=reads, writes=writes, fuses=False)


VIEW_SLICED = Implementation(
    "view", _view, _same_bytes, reads=LINEAR, writes=SLICED, fuses=False, is_view=True
)
VIEW_LINEAR = Implementation(
    "view", _view, _same_bytes, reads=SLICED, writes=LINEAR, fuses=False, is_view=True
)

define(TO_SLICED, same_as_first, (VIEW_SLICED, _kernel("move/to_sliced.jinja", LINEAR, SLICED)))
define(TO_LINEAR, same_as_first, (VIEW_LINEAR, _kernel("move/to_linear.jinja", SLICED, LINEAR)))
