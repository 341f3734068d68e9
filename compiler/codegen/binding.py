"""What a launch binds to: an accessor for each role, and its constants gathered into one array."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ..accessors import Accessor, LinearAccessor, SlicedAccessor, accessor, image
from ..ir import Array, Op, Shape, Tensor
from ..ops.base import (
    SLICED,
    Implementation,
    Launch,
    StridedLayout,
    device_dtype,
    pack_slices,
    stored_bytes,
)
from ..ops.elementwise import read_in_store
from ..target import Target

CONSTANTS = "constants"
EARLY = "early"
"""The array of a value that the epilogue stores on the way."""


@dataclass
class Argument:
    """What a parameter of the kernel gets: a tensor, or the constants."""

    tensor: Tensor | None
    writes: bool
    accessor: Accessor


@dataclass
class Binding:
    """Accessors of one launch by role and by tensor, and the constants gathered into one array."""

    launch: Launch
    implementation: Implementation
    target: Target
    layouts: Mapping[Tensor, StridedLayout]
    """How tensors lie in what the kernel gets of them, if they are not all of it."""
    used: set[str] = field(default_factory=set)
    """The intrinsics that the accessors' texts call."""
    roles: dict[str, Accessor] = field(default_factory=dict)
    arguments: list[Argument] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)
    contents: list[tuple[str, int]] = field(default_factory=list)
    """What each constant is, and where it starts."""
    taken: int = 0
    """Elements of the constants so far: slices, or floats in a kernel that computes row-major."""
    operands: dict[Tensor, Accessor] = field(default_factory=dict)
    """How the epilogue reads what it does not compute."""
    early: dict[Tensor, Accessor] = field(default_factory=dict)
    """Where values on the way are stored that others need, too."""

    @property
    def sliced(self) -> bool:
        """Whether it computes slice by slice."""
        return self.implementation.operands == SLICED

    def bind(self, op: Op) -> None:
        """Bind what the launch and the epilogue read, then what it writes.

        Raises Unreachable for a tensor that the kernel cannot reach as it lies.
        """
        for role, tensor in self.launch.reads.items():
            self._bind(role, tensor, self._reading(role, tensor, self.implementation.reads))
        for role, array in self.launch.constants.items():
            base = self._add_constant(role, array)
            self.roles[role] = replace(self._constants(self._in_a_row(array.size)), base=base)
        for tensor in read_in_store(op):
            self._bind_operand(tensor)
        if self.arrays:
            self._bind_constants()
        for role, tensor in self.launch.writes.items():
            self._bind(role, tensor, self._writing(role, tensor), writes=True)
        if op.output in self.launch.writes.values():
            for tensor in op.early_outputs:
                self.early[tensor] = self._writing(EARLY, tensor)
                self.arguments.append(Argument(tensor, True, self.early[tensor]))

    def _bind(self, role: str, tensor: Tensor, found: Accessor, writes: bool = False) -> None:
        self.roles[role] = found
        self.arguments.append(Argument(tensor, writes, found))

    def _accessor(
        self, array: str, tensor: Tensor, storage: str, by_slices: bool = False
    ) -> Accessor:
        return accessor(
            *(array, tensor, storage, self.target, self.layouts.get(tensor)),
            by_slices=by_slices,
            flatten=self.launch.flatten,
            used=self.used,
        )

    def _writing(self, role: str, tensor: Tensor) -> Accessor:
        return self._accessor(role, tensor, self.implementation.writes, by_slices=self.sliced)

    def _reading(self, role: str, tensor: Tensor, storage: str) -> Accessor:
        """How the kernel reads a tensor: as an image where the device's profile says so."""
        found = self._accessor(role, tensor, storage)
        if not isinstance(found, SlicedAccessor) or not self.target.tensor_images:
            return found
        texel = self.target.slice_bytes
        layout = self.layouts.get(tensor)
        size = stored_bytes(tensor.shape, storage, self.target)
        texels = (size if layout is None else layout.start + layout.span(size)) // texel
        return image(found, texel) if 0 < texels <= self.target.device.image_texels else found

    def _bind_operand(self, tensor: Tensor) -> None:
        """Bind what the epilogue reads, unless the core reads it in the same storage."""
        if tensor in self.operands or is_literal(tensor):
            return
        if tensor.data is not None and device_dtype(tensor.dtype) == "float32":
            data = pack_slices(tensor.data, self.target.lanes) if self.sliced else tensor.data
            base = self._add_constant(tensor.name, data)
            found = self._constants(tensor.shape)
            found = found.flattened() if self.launch.flatten else found
            self.operands[tensor] = replace(found, base=base)
            return
        for argument in self.arguments:
            if (
                argument.tensor is tensor
                and self.implementation.reads == self.implementation.operands
            ):
                self.operands[tensor] = argument.accessor
                return
        number = sum(1 for role in self.roles if role.startswith("other"))
        role = "other" if not number else f"other{number + 1}"
        found = self._reading(role, tensor, self.implementation.operands)
        self.operands[tensor] = found
        self._bind(role, tensor, found)

    # -- constants --------------------------------------------------------------------------

    def _add_constant(self, what: str, array: Array) -> int:
        """Append an array to the constants; returns where it starts."""
        base = self.taken
        self.contents.append((what, base))
        flat = np.ascontiguousarray(array, np.float32)
        self.taken += flat.size // (self.target.lanes if self.sliced else 1)
        self.arrays.append(flat.reshape(-1))
        return base

    def _constants(self, shape: Shape) -> Accessor:
        """A constant of that shape in the array of constants, which are never in half precision."""
        if not self.sliced:
            return LinearAccessor.of(CONSTANTS, shape, self.target.lanes, self.used)
        return SlicedAccessor.of(CONSTANTS, shape, self.target, self.used)

    def _in_a_row(self, size: int) -> Shape:
        """The shape of that many floats whose slices, if they are in slices, are columns."""
        return (1, 1, size // self.target.lanes, self.target.lanes) if self.sliced else (size,)

    def _bind_constants(self) -> None:
        """As an image where the profile says so, from which all that lies in them is read then."""
        size = self.taken * (self.target.lanes if self.sliced else 1)
        constants = self._constants(self._in_a_row(size))
        fits = self.taken <= self.target.device.image_texels
        if isinstance(constants, SlicedAccessor) and self.target.weight_images and fits:
            texel = 4 * self.target.lanes
            self.roles = {role: _in_image(found, texel) for role, found in self.roles.items()}
            self.operands = {t: _in_image(found, texel) for t, found in self.operands.items()}
            constants = image(constants, texel)
        self.arguments.append(Argument(None, False, constants))


def _in_image(found: Accessor, texel: int) -> Accessor:
    """What lies in the constants, once these are an image; anything else stays."""
    if isinstance(found, SlicedAccessor) and found.array == CONSTANTS:
        return image(found, texel)
    return found


def is_literal(tensor: Tensor) -> bool:
    """Whether a tensor is written into the source as a number."""
    return tensor.data is not None and tensor.elements == 1
