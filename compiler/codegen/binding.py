"""Binding: a kernel's parameters, and an accessor for each role."""

from dataclasses import dataclass, field, replace
from itertools import chain, count

from ..accessors import Accessor, accessor
from ..accessors.codecs import byte_table
from ..ir import Op, Tensor
from ..memory.allocation import Placement
from ..ops.base.definition import Implementation
from ..ops.base.launch import Launch
from ..ops.base.storage import SLICED, fits_half, lane_of, pack_slices, slice_bytes, stored_bytes
from ..ops.buffers import joins_constants
from ..ops.elementwise.elementwise import read_in_store, tables_of
from ..target import Target
from .constants import CONSTANTS, Constants
from .functions.kernel_functions import KernelFunctions
from .functions.use import Use

EARLY = "early"


@dataclass
class Argument:
    tensor: Tensor | None  # None for the array of constants.
    writes: bool
    accessor: Accessor
    others: list[Tensor] = field(default_factory=list)  # The tensors that are read through it, too.

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All of them; none for the array of constants."""
        return () if self.tensor is None else (self.tensor, *self.others)


@dataclass
class Binding:
    """The arguments of one launch, and the accessors that its template and its epilogue use."""

    launch: Launch
    implementation: Implementation
    target: Target
    placement: Placement
    used: set[str] = field(default_factory=set)
    roles: dict[str, Accessor] = field(default_factory=dict)
    # The arguments in the order of the kernel's parameters.
    arguments: list[Argument] = field(default_factory=list)
    # The accessor of each tensor the epilogue reads.
    operands: dict[Tensor, Accessor] = field(default_factory=dict)
    early: dict[Tensor, Accessor] = field(default_factory=dict)
    constants: Constants = field(init=False)

    @property
    def half(self) -> bool:
        """Whether the kernel multiplies and adds in half precision."""
        return self.constants.half

    @property
    def sliced(self) -> bool:
        """Whether the kernel computes slice by slice."""
        return self.implementation.operands == SLICED

    def functions(self, slices: bool) -> KernelFunctions:
        use = Use(self.used, slices=slices, keep_nan=self.target.nan == "keep")
        lanes = self.target.lanes
        return KernelFunctions(self.target.language, use, lanes if slices else 0, lanes > 4)

    def bind(self, op: Op) -> None:
        """Bind what core and epilogue read, the constants, and what is written (Unreachable)."""
        self.constants = Constants(
            self.target,
            self.sliced,
            halves_constants(op, self.launch, self.target),
            computes_in_half(op, self.launch, self.implementation, self.target),
            self.launch.pairs,
            self.used,
        )
        # This is the order of the kernel's parameters. The constants come after the epilogue's
        # operands, because constant operands are appended to them.
        for role, tensor in self.launch.reads.items():
            self._bind(role, tensor, self._reading(role, tensor, self.implementation.reads))
        for role, tensor in self.launch.packed.items():
            self._bind(role, tensor, self._accessor(role, tensor, SLICED))
        for role, array in self.launch.constants.items():
            base = self.constants.add(role, array)
            self.roles[role] = replace(self.constants.in_a_row(array.size), base=base)
        tables = tables_of(op) if self._byte_tables else set()
        for tensor in read_in_store(op):
            if not (tensor in tables and self._bind_byte_table(tensor)):
                self._bind_operand(tensor)
        if self.constants.arrays:
            self._bind_constants()
        for role, tensor in self.launch.writes.items():
            self._bind(role, tensor, self._writing(role, tensor), writes=True)
        if op.output in self.launch.writes.values():
            for tensor in op.early_outputs:
                self.early[tensor] = self._writing(EARLY, tensor)
                self.arguments.append(Argument(tensor, True, self.early[tensor]))

    def _bind(self, role: str, tensor: Tensor, found: Accessor, writes: bool = False) -> None:
        if role in self.launch.joined:
            found = found.joined(self.launch.joined[role], writes, self.target)
        shared = None if writes else self._shared(tensor, found)
        if shared is None:
            self.arguments.append(Argument(tensor, writes, found))
        else:
            if tensor not in shared.tensors:
                shared.others.append(tensor)
            found = replace(found, memory=shared.accessor.memory)
        self.roles[role] = found

    def _shared(self, tensor: Tensor, found: Accessor) -> Argument | None:
        """The argument that a tensor is read through, in another role or with others, if bound."""
        number = self.placement.numbers.get(tensor)
        for argument in self.arguments if number is not None else ():
            if number in map(self.placement.numbers.get, argument.tensors):
                return argument if argument.accessor.stored == found.stored else None
        return None

    def _accessor(self, array: str, tensor: Tensor, storage: str, writes: bool = False) -> Accessor:
        return accessor(
            array,
            tensor,
            storage,
            self.target,
            self.placement.layouts.get(tensor),
            by_slices=writes and self.sliced,
            whole_slices=array in self.launch.whole_slices,
            flatten=self.launch.flatten,
            zero_point=self.implementation.zero_point if writes else None,
            half=self.half,
            used=self.used,
        )

    def _writing(self, role: str, tensor: Tensor) -> Accessor:
        return self._accessor(role, tensor, self.implementation.writes, writes=True)

    def _reading(self, role: str, tensor: Tensor, storage: str) -> Accessor:
        """The accessor of a tensor that is read: an image if the device profile says so."""
        found = self._accessor(role, tensor, storage)
        if not self.target.tensor_images:
            return found
        texel = slice_bytes(tensor, self.target)
        layout = self.placement.layouts.get(tensor)
        size = stored_bytes(tensor, storage, self.target)
        # The image spans the whole argument, which is longer than the tensor if it is a view.
        texels = (size if layout is None else layout.start + layout.span(size)) // texel
        return found.in_image(texel) if 0 < texels <= self.target.device.image_texels else found

    def _bind_operand(self, tensor: Tensor) -> None:
        """Bind a tensor the epilogue reads: as a constant, the core's argument or a parameter."""
        if tensor in self.operands or tensor.number is not None:
            return
        if tensor.data is not None and joins_constants(tensor):
            data = pack_slices(tensor.data, self.target.lanes) if self.sliced else tensor.data
            base = self.constants.add(tensor.name, data)
            found = self.constants.accessor(tensor.shape)
            found = found.flattened() if self.launch.flatten else found
            self.operands[tensor] = replace(found, base=base).widened()
            return
        # The core's accessor serves the epilogue as well, unless they read different storages.
        for argument in self.arguments:
            if (
                argument.tensor is tensor
                and self.implementation.reads == self.implementation.operands
            ):
                self.operands[tensor] = argument.accessor.widened()
                return
        role = self._next_operand()
        self._bind(role, tensor, self._reading(role, tensor, self.implementation.operands))
        self.operands[tensor] = self.roles[role].widened()

    def _next_operand(self) -> str:
        """What the kernel calls the next tensor of the epilogue alone: x if the core reads none."""
        first = () if self.launch.reads else ("x",)
        names = chain(first, ("other",), (f"other{number}" for number in count(2)))
        return next(name for name in names if name not in self.roles)

    @property
    def _byte_tables(self) -> bool:
        """Whether tables are bytes among the constants, where bytes can hold them."""
        return self.target.byte_tables and self.sliced and not self.constants.halved

    def _bind_byte_table(self, tensor: Tensor) -> bool:
        """Bind a table as bytes among the constants, if it is one that bytes can hold."""
        table = byte_table(tensor.data) if tensor.data is not None else None
        if table is None:
            return False
        codec, content = table
        base = self.constants.add(tensor.name, content)
        found = self.constants.in_a_row(content.size)
        self.operands[tensor] = replace(found, codec=codec, base=base)
        return True

    def _bind_constants(self) -> None:
        """Add the constants' parameter, whose accessors become images if the profile says so."""
        texel = self.constants.texel
        if texel:
            self.roles = {role: _in_image(found, texel) for role, found in self.roles.items()}
            self.operands = {t: _in_image(found, texel) for t, found in self.operands.items()}
        whole = self.constants.whole()
        self.arguments.append(Argument(None, False, whole.in_image(texel) if texel else whole))


def _in_image(found: Accessor, texel: int) -> Accessor:
    """The accessor as an image if it accesses the constants; otherwise unchanged."""
    return found.in_image(texel) if found.array == CONSTANTS else found


def halves_constants(op: Op, launch: Launch, target: Target) -> bool:
    """Whether half precision is wanted for a launch's constants and holds all of them."""
    if not target.half or any(tensor.kept for tensor in op.outputs):
        return False
    inner = [t.data for t in read_in_store(op) if t.data is not None and joins_constants(t)]
    return all(map(fits_half, (*launch.constants.values(), *inner)))


def computes_in_half(
    op: Op, launch: Launch, implementation: Implementation, target: Target
) -> bool:
    """Whether the kernel of a launch multiplies and adds in half precision.

    It does if the target and the kernel can, and if all that it reads is stored so.
    """
    if not (target.half_arithmetic and implementation.half_arithmetic):
        return False
    stored = (lane_of(tensor, target).dtype for tensor in launch.reads.values())
    return halves_constants(op, launch, target) and all(dtype == "float16" for dtype in stored)
