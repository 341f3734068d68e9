"""What a launch binds to: a view for each role, and its constants gathered into one array."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType

import numpy as np

from ..devices import Profile
from ..errors import RenderError
from ..ir import Array, Op, Shape, Tensor
from ..ops.base import SLICED, Kernel, Launch, Runs, device_dtype
from ..ops.packing import pack_slices, storage_bytes
from .accessors import HalfView, ImageView, LinearView, RowsView, SlicedView, View
from .epilogue import steps

CONSTANTS = "constants"
EARLY = "early"
"""The array of a value that post-operators go on from."""
NOWHERE: Mapping[Tensor, Runs] = MappingProxyType({})


@dataclass
class Binding:
    """Views of one launch by role and by tensor, and the constants gathered into one array."""

    launch: Launch
    kernel: Kernel
    profile: Profile
    places: Mapping[Tensor, Runs]
    """Where tensors lie in what the kernel gets of them, if they are not all of it."""
    views: dict[str, View] = field(default_factory=dict)
    arrays: list[Array] = field(default_factory=list)
    contents: list[tuple[str, int]] = field(default_factory=list)
    """What each constant is, and where it starts."""
    used: int = 0
    """Elements of the constants taken so far: slices of lanes, or floats in a linear kernel."""
    operands: dict[Tensor, View] = field(default_factory=dict)
    early: dict[int, View] = field(default_factory=dict)
    """Where values of the chain of post-operators are stored that others need, too."""
    arguments: list[tuple[Tensor | None, bool, View]] = field(default_factory=list)

    @property
    def sliced(self) -> bool:
        """Whether it computes slice by slice."""
        return self.kernel.operands == SLICED

    @property
    def lanes(self) -> int:
        return self.profile.slice_width

    def view(self, array: str, tensor: Tensor, storage: str) -> View:
        """How the kernel reaches a tensor in that storage; RowsView where it writes by slices.

        RenderError if it cannot, because of how the tensor lies within another.
        """
        unit = 4
        view: View
        if storage == SLICED:
            stored = HalfView if self.profile.half and array != CONSTANTS else SlicedView
            view = stored.of(array, tensor.shape, self.lanes)
            unit = self.lanes * self.profile.lane_bytes
        elif array in self.launch.writes and self.sliced:
            view = RowsView.of(array, tensor.shape, self.lanes)
        else:
            view = LinearView.of(array, tensor.shape, self.lanes)
            if device_dtype(tensor.dtype) == "int32":
                view = replace(view, element="int")
        view = view.flattened() if self.launch.flatten else view
        runs = self.places.get(tensor)
        return view if runs is None else _placed(view, tensor, runs, unit)

    def reading(self, array: str, tensor: Tensor, storage: str) -> View:
        """How the kernel reaches a tensor that it reads: as an image where the profile says so."""
        view = self.view(array, tensor, storage)
        if storage != SLICED or self.profile.tensor_storage == "buffer":
            return view
        texel = self.lanes * self.profile.lane_bytes
        runs = self.places.get(tensor)
        size = storage_bytes(tensor.shape, self.profile)
        texels = (size if runs is None else runs.start + runs.span(size)) // texel
        return _image(view, texel) if 0 < texels <= self.profile.image_texels else view

    def add_constant(self, what: str, array: Array) -> int:
        """Append an array to the constants; returns where it starts."""
        base = self.used
        self.contents.append((what, base))
        flat = np.ascontiguousarray(array, np.float32)
        self.used += flat.size // (self.lanes if self.sliced else 1)
        self.arrays.append(flat.reshape(-1))
        return base

    def bind(self, op: Op) -> None:
        """Bind what the launch and its post-operators read, then what it writes."""
        for role, tensor in self.launch.reads.items():
            view = self.reading(role, tensor, self.kernel.reads)
            self.views[role] = view
            self.arguments.append((tensor, False, view))
        for role, array in self.launch.constants.items():
            base = self.add_constant(role, array)
            self.views[role] = replace(self._constant_view((array.size,)), base=base)
        for step in steps(op):
            for operand in step.operands:
                if isinstance(operand, Tensor):
                    self._bind_operand(operand, step.name)
        if self.arrays:
            width = self.lanes if self.sliced else 1
            constants = self._constant_view((self.used * width,))
            as_image = self.sliced and self.profile.weight_storage == "image"
            if as_image and self.used <= self.profile.image_texels:
                constants = self._as_image(constants)
            self.arguments.append((None, False, constants))
        for role, tensor in self.launch.writes.items():
            view = self.view(role, tensor, self.kernel.writes)
            self.views[role] = view
            self.arguments.append((tensor, True, view))
        if op.output in self.launch.writes.values():
            for number, tensor in zip(op.stored, op.early, strict=True):
                view = self.view(EARLY, tensor, self.kernel.writes)
                self.early[number] = view
                self.arguments.append((tensor, True, view))

    def _as_image(self, constants: View) -> View:
        """The constants as an image, from which all that lies in them is read then."""
        texel = 4 * self.lanes
        inside = {role: view for role, view in self.views.items() if view.array == CONSTANTS}
        self.views |= {role: _image(view, texel) for role, view in inside.items()}
        kept = {item: view for item, view in self.operands.items() if view.array == CONSTANTS}
        self.operands |= {item: _image(view, texel) for item, view in kept.items()}
        return _image(constants, texel)

    def _constant_view(self, shape: Shape) -> View:
        if self.sliced:
            return SlicedView(CONSTANTS, 1, 1, shape[0] // self.lanes, self.lanes, self.lanes)
        return LinearView(CONSTANTS, shape, self.lanes)

    def _bind_operand(self, tensor: Tensor, reader: str) -> None:
        if tensor in self.operands or is_literal(tensor):
            return
        if tensor.data is not None and device_dtype(tensor.dtype) == "float32":
            data = pack_slices(tensor.data, self.lanes) if self.sliced else tensor.data
            base = self.add_constant(f"operand of {reader}", data)
            view = self.view(CONSTANTS, tensor, self.kernel.operands)
            self.operands[tensor] = replace(view, base=base)
            return
        for bound, _, view in self.arguments:
            if bound is tensor and self.kernel.reads == self.kernel.operands:
                self.operands[tensor] = view
                return
        number = sum(1 for role in self.views if role.startswith("other"))
        role = "other" if not number else f"other{number + 1}"
        view = self.reading(role, tensor, self.kernel.operands)
        self.views[role] = self.operands[tensor] = view
        self.arguments.append((tensor, False, view))


def _image(view: View, texel: int) -> ImageView:
    """The same tensor as an image."""
    return ImageView(**{item.name: getattr(view, item.name) for item in fields(view)}, texel=texel)


def _placed(view: View, tensor: Tensor, runs: Runs, unit: int) -> View:
    """The view of a tensor that lies in runs of bytes; an element of the view has `unit` bytes."""
    if runs.start % unit or runs.pitch % unit:
        raise RenderError(f"{tensor.name} would start amid a slice")
    view = replace(view, base=runs.start // unit)
    if runs.dense:
        return view
    spread = view.in_runs(runs.length // unit, runs.pitch // unit)
    if spread is None:
        raise RenderError(f"a kernel goes along {tensor.name} across the gaps it would have")
    return spread


def is_literal(tensor: Tensor) -> bool:
    """Whether a tensor is written into the source as a number."""
    return tensor.data is not None and tensor.elements == 1
