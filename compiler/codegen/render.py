"""Rendering: from a launch to the source of its kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

import jinja2

from ..accessors import Position
from ..errors import RenderError
from ..ir import Op, Tensor
from ..language import (
    FLOAT,
    TRUE,
    Expression,
    Name,
    Operand,
    clamp,
    horner,
    maximum,
    minimum,
    select,
)
from ..language.comment import in_comment
from ..ops.base import Constant, Implementation, Launch, StridedLayout, bhwc, kernel_dtype
from ..ops.base.launch import Grid
from ..ops.elementwise import Formula, is_literal
from ..target import Target
from . import control
from .binding import Argument, Binding
from .environment import environment
from .epilogue import Chain
from .intrinsics import Use
from .kernel_functions import KernelFunctions
from .kernel_source import KernelSource, Parameter, SharedArray
from .literal import literal
from .work_item import WorkItem

NO_LAYOUTS: Mapping[Tensor, StridedLayout] = MappingProxyType({})


@dataclass(frozen=True)
class RenderedLaunch:
    """The kernel of one launch, and its grid and arguments."""

    source: KernelSource
    grid: Grid
    """Work-items, rounded up to whole groups."""
    described: tuple[str, ...]
    """A line of text about each parameter, for the kernel's header comment."""
    tensors: tuple[tuple[Tensor, ...], ...]
    """The tensors bound to each parameter; none for the constants."""
    constants: tuple[Constant, ...]
    """The contents of the constants, which follow one another."""
    halved: bool
    """Whether they do so as float16, not as float32."""
    flops: int
    why: str
    """Why tile and work-group were chosen."""


def render(
    op: Op,
    launch: Launch,
    implementation: Implementation,
    target: Target,
    layouts: Mapping[Tensor, StridedLayout] = NO_LAYOUTS,
    joint: Mapping[Tensor, int] = MappingProxyType({}),
) -> RenderedLaunch:
    """Render the kernel of one launch (RenderError if the template fails: a bug in tflgpu).

    `layouts` has the layout of each tensor that is not the whole of its argument, and `joint` the
    number of the argument of each that is read through one with others.
    """
    assert launch.group is not None
    group = launch.group
    columns, rows, outer = (
        -(-size // part) * part for size, part in zip(launch.grid, group, strict=True)
    )
    binding = Binding(launch, implementation, target, layouts, joint)
    binding.bind(op)
    body = _Body(op, binding, (columns, rows, outer))
    try:
        text = environment().get_template(launch.template).render(body.vocabulary())
    except (jinja2.TemplateError, TypeError) as error:
        line = getattr(error, "lineno", None)
        place = f"{launch.template}:{line}" if line else launch.template
        known = ", ".join(sorted(body.vocabulary()))
        raise RenderError(f"{place}: {error}; the names defined for it are {known}") from error
    source = KernelSource(
        template=launch.template,
        name=PurePosixPath(launch.template).stem + launch.variant,
        language=target.language,
        lanes=target.lanes,
        parameters=tuple(_parameter(argument, target) for argument in binding.arguments),
        group=group,
        axes=tuple(sorted(body.work_item.declared.items())),
        shared=tuple(body.shared),
        half=binding.half,
        intrinsics=frozenset(binding.used),
        body=text,
    )
    return RenderedLaunch(
        source,
        (columns, rows, outer),
        tuple(_describe(binding, argument) for argument in binding.arguments),
        tuple(argument.tensors for argument in binding.arguments),
        tuple(binding.arrays),
        binding.halved,
        launch.flops,
        launch.why,
    )


def _parameter(argument: Argument, target: Target) -> Parameter:
    found = argument.accessor
    element = target.language.element(found.stored, target.lanes)
    constant = argument.tensor is None or argument.tensor.constant
    writable = argument.writes or not (constant or target.language.writes_beside)
    return Parameter(found.array, element, argument.writes, found.texel, writable)


def _describe(binding: Binding, argument: Argument) -> str:
    found, tensor = argument.accessor, argument.tensor
    beside = "".join(f" and {list(other.shape)}" for other in argument.others)
    how = "row-major" if found.row_major else f"in slices of {found.lanes} channels"
    how += ", as an image" if found.texel else ""
    if tensor is None:
        contents = ", ".join(f"{in_comment(what)} from {base}" for what, base in binding.contents)
        return f"{found.array}: reads {contents}, {how}"
    if tensor.whole is not None:
        base = tensor.whole.row_base if found.row_major else tensor.whole.base
        how += f", as {tensor.whole.called} from {base}"
    how += ", within a larger one" if found.gaps else ""
    verb = "writes" if argument.writes else "reads"
    return f"{found.array}: {verb} {tensor.dtype} {list(tensor.shape)}{beside}, {how}"


class _Variables:
    """The variables that templates declare, by their names: `var.column`."""

    def __getitem__(self, name: str) -> Name:
        return Name(name)

    __getattr__ = __getitem__


class _Body:
    """The names a template can use; records what the rendered body needs."""

    def __init__(self, op: Op, binding: Binding, grid: Grid) -> None:
        self._op, self._binding = op, binding
        self._target, self._launch = binding.target, binding.launch
        role, written = next(iter(self._launch.writes.items()))
        self._output, self._written = binding.roles[role], written
        self._functions = self._functions_of(binding.sliced)
        batches = bhwc(written.shape)[0] if binding.sliced else 1
        self.work_item = WorkItem(self._launch, grid, self._launch.batches or batches)
        self.shared: list[SharedArray] = []

    def _functions_of(self, slices: bool) -> KernelFunctions:
        """The functions of slices or of single elements."""
        use = Use(self._binding.used, slices=slices, keep_nan=self._target.nan == "keep")
        return KernelFunctions(self._target.language, use, self._target.lanes if slices else 0)

    def vocabulary(self) -> Mapping[str, Any]:
        """Everything a template can name: roles, coordinates, stores, types and literals."""
        language, lanes = self._target.language, self._target.lanes
        half = self._binding.half
        return {
            **self._binding.roles,
            **self.work_item.coordinates,
            **control.vocabulary(self._target),
            "apply": self.apply,
            "clamp": clamp,
            "enter": self.work_item.enter,
            "enter_grid": self.work_item.enter_grid,
            "enter_linear": self.work_item.enter_linear,
            "formula": self.formula,
            "floatS": language.floats(lanes),
            "group": self._launch.group,
            "horner": horner,
            "intS": language.ints(lanes),
            "lane": lambda value, number: language.lane(value, number, lanes),
            "literal": lambda value: literal(value, self._functions.use),
            "max": maximum,
            "min": minimum,
            "number": self.number,
            "real": language.real(half),
            "realS": language.real(half, lanes),
            "S": lanes,
            "select": select,
            "share": self.share,
            "slice_loads": self._target.device.slice_loads,
            "splat": lambda value: language.splat(str(value), lanes),
            "splat_ints": lambda value: language.convert(language.ints(lanes), str(value)),
            "store": self.store,
            "store_at": self.store_at,
            "store_joined": self.store_joined,
            "store_slice_at": self.store_slice_at,
            "sub_groups": self._target.sub_groups,
            "TRUE": TRUE,
            "to_float": lambda value: Name(language.convert("float", str(value)), FLOAT),
            "to_floats": lambda value: f"{language.casts(lanes)['float']}({value})",
            "to_int": lambda value: Name(language.convert("int", str(value))),
            "to_ints": lambda value: Name(f"{language.casts(lanes)['int']}({value})"),
            "uniform": self.uniform,
            "use": self._functions.use,
            "var": _Variables(),
            "vector": lambda values: language.convert(
                language.floats(lanes), ", ".join(map(str, values))
            ),
            "write": self.write,
            "zero": language.zero(half),
            "zeroS": language.zero(half, lanes),
            **self._launch.variables,
        }

    def share(self, kind: str, name: str, count: int) -> None:
        """Declare an array of floats, integers or slices in local memory."""
        lanes = 1 if kind in ("float", "int") else self._target.lanes
        self.shared.append(SharedArray(kind, name, count, 4 * lanes * count))

    def formula(self, formula: Formula, *names: str, of: str = "") -> Expression:
        """A formula of variables, by default of the type of the output's elements."""
        dtype = "int32" if (of or self._output.element) == "int" else "float32"
        operands = [self._functions.variable(name, dtype) for name in names]
        return self._functions.value(formula, *operands)

    def number(self, value: float) -> str:
        """A literal of the output's element type."""
        whole = self._output.element == "int"
        return literal(value, self._functions.use, "int32" if whole else "float32")

    @property
    def uniform(self) -> bool:
        """Whether the epilogue does not depend on the position in the output."""
        return not self._op.early_outputs and all(map(is_literal, self._op.epilogue_inputs))

    def apply(self, ops: Sequence[Op], value: object) -> str:
        """The statements that apply elementwise operators to a value and leave the result in `v`.

        The operators may otherwise read only scalar constants.
        """
        floats = self._target.language.floats(self._target.lanes)
        chain = Chain(floats, self._functions)
        computed = [tensor for op in ops[:1] for tensor in op.reads if not tensor.constant]
        chain.start(computed[0] if computed else self._op.output, str(value))
        operands = _OperandsAt(self._binding, self._written, self._functions, Position())
        chain.compute(ops, operands, {})
        return "\n".join(chain.lines)

    def write(
        self, value: object, batch: Operand, row: Operand, column: Operand, slice: Operand
    ) -> str:
        """The statement that stores a slice to which the epilogue has already been applied."""
        return self._output.write(Position(batch, row, column, slice), value)

    def store(
        self, value: object | None, batch: Operand, row: Operand, column: Operand, slice: Operand
    ) -> str:
        """The statements that run the epilogue on a slice and store it.

        With `value` None the slice is computed by the operator itself, which is elementwise.
        """
        kind = self._target.language.floats(self._target.lanes)
        return self._stored(value, kind, Position(batch, row, column, slice))

    def store_joined(
        self,
        values: Sequence[object],
        batch: Operand,
        row: Operand,
        column: Operand,
        slice: Operand,
    ) -> str:
        """The statements for slices of neighbouring pixels, as many as are stored at once."""
        output, kind = self._output, self._target.language.floats(self._target.lanes)
        assert output.join
        lines = [f"{self._target.language.element(output.stored, output.lanes)} joined;"]
        for number, value in enumerate(values):
            place = Position(batch, row, column + number, slice)
            part = output.join.part(output.memory, number, output.keep_tail(place, "v"))
            lines += ["{", self._stored(value, kind, place, part), "}"]
        first = output.place(Position(batch, row, column, slice))
        power = output.together.bit_length() - 1
        return "\n".join([*lines, f"{output.array}[({first}) >> {power}] = joined;"])

    def store_at(self, value: object | None, index: Operand) -> str:
        """The statements that run the epilogue on an element and store it at a flat index."""
        return self._stored(value, self._output.element, Position(index=index))

    def store_slice_at(self, value: object | None, index: Operand) -> str:
        """The statements for a slice of elements of a row, stored from a flat index on."""
        kind = self._target.language.floats(self._target.lanes)
        return self._stored(value, kind, Position(index=index, lanes=self._target.lanes))

    def _stored(
        self, value: object | None, kind: str, position: Position, kept: str | None = None
    ) -> str:
        """The statements of a store; `kept` is the last one, if it is not a plain write."""
        op, half = self._op, self._binding.half
        stores = {
            tensor: found.write(position, "v") for tensor, found in self._binding.early.items()
        }
        ops = op.epilogue if self._binding.implementation.fuses else ()
        functions = self._functions_of(True) if position.lanes else self._functions
        chain = Chain(kind, functions)
        if value is not None and half:
            value = self._target.language.widen(str(value), self._target.lanes)
        if value is None:
            ops = (*op.core, *ops)
        elif not ops and not self._output.repeats and kept is None:
            return self._output.write(position, value)
        else:
            chain.start(op.core[-1].output, str(value))
        operands = _OperandsAt(self._binding, self._written, functions, position)
        chain.compute(ops, operands, stores)
        return "\n".join([*chain.lines, kept or self._output.write(position, "v")])


@dataclass(frozen=True)
class _OperandsAt:
    """How operands of elementwise operators are read at a position of the output."""

    binding: Binding
    output: Tensor
    functions: KernelFunctions
    position: Position

    def read(self, tensor: Tensor) -> str:
        if is_literal(tensor):
            return self._literal(tensor)
        found = self.binding.operands[tensor]
        return str(found.broadcast(self.position, self.output.shape))

    def entry(self, tensor: Tensor, index: Expression) -> str:
        return str(self.binding.operands[tensor].entry(index))

    def _literal(self, tensor: Tensor) -> str:
        assert tensor.data is not None
        value = tensor.data.reshape(()).item()
        text = literal(value, self.functions.use, kernel_dtype(tensor.dtype))
        text = f"({text})" if text.startswith("-") else text
        return self._splat(text)

    def _splat(self, text: str) -> str:
        """A number in every lane, if the functions are those of slices."""
        lanes = self.functions.lanes
        return self.functions.language.splat(text, lanes) if lanes else text
