"""Operators of tflgpu's own that carry a tensor from one storage to the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from ..devices import Profile
from ..ir import Op
from .base import LINEAR, SLICED, Kernel, Launch, OpDef, bhwc, define, same_as_first, sliced_grid

TO_SLICED = "tflgpu.to_sliced"
TO_LINEAR = "tflgpu.to_linear"


def _same_bytes(op: Op, profile: Profile) -> str | None:
    """Whether both storages hold the tensor in the same order."""
    shape = op.output.shape
    if profile.half:
        return "slices are stored in half precision"
    if len(shape) > 4:
        return "rank is above 4"
    batch, height, width, channels = bhwc(shape)
    tail = channels % profile.slice_width
    if channels == profile.slice_width or (height * width == 1 and not tail):
        return None
    if op.name == TO_LINEAR and batch * height * width == 1:
        return None  # the zeros behind the last channel do no harm
    return "the order of the elements differs"


def _view(op: Op, profile: Profile) -> Sequence[Launch]:
    return []


def _kernel(template: str, reads: str, writes: str) -> Kernel:
    def build(op: Op, profile: Profile) -> Sequence[Launch]:
        grid = sliced_grid(op.output.shape, profile, flatten=True)
        return [Launch(template, grid, {"x": op.operand(0)}, {"y": op.output}, flatten=True)]

    name = PurePosixPath(template).stem
    return Kernel(name, build, reads=reads, writes=writes, fuses=False)


VIEW_SLICED = Kernel("view", _view, _same_bytes, reads=LINEAR, writes=SLICED, fuses=False)
VIEW_LINEAR = Kernel("view", _view, _same_bytes, reads=SLICED, writes=LINEAR, fuses=False)

define(
    OpDef(TO_SLICED, same_as_first, (VIEW_SLICED, _kernel("move/to_sliced.jinja", LINEAR, SLICED))),
    OpDef(TO_LINEAR, same_as_first, (VIEW_LINEAR, _kernel("move/to_linear.jinja", SLICED, LINEAR))),
)
