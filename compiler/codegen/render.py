"""Rendering: from a launch to the source of its kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

import jinja2

from ..accessors import Position
from ..errors import RenderError
from ..ir import Op, Tensor
from ..language import (
    FALSE,
    FLOAT,
    FLOATS,
    HALF,
    HALVES,
    INT,
    INTS,
    LANE,
    PAIR,
    PIXELS,
    RGB,
    TRUE,
    WGSL,
    Array,
    Call,
    Element,
    Expression,
    Member,
    Name,
    Number,
    Numeral,
    Operand,
    Operation,
    Real,
    Step,
    Unary,
    clamp,
    coordinate,
    expression,
    horner,
    lane,
    maximum,
    minimum,
    select,
)
from ..language.comment import in_comment
from ..language.statement import (
    Assign,
    Copy,
    Declare,
    Evaluate,
    Printed,
    Printer,
    Statements,
    body,
)
from ..ops.base import Constant, Implementation, Launch, StridedLayout, bhwc, kernel_dtype
from ..ops.base.launch import Grid
from ..ops.elementwise import Formula, is_literal
from ..target import Target
from . import control, declarations
from .binding import Argument, Binding
from .environment import environment
from .epilogue import RESULT, Chain
from .intrinsics import Function, Use
from .kernel_functions import BUILT_IN, KernelFunctions
from .kernel_source import KernelSource, Parameter, SharedArray
from .literal import literal
from .wgsl import print_kernel
from .work_item import WorkItem

_BUILT_IN = {name: Function(name) for name in BUILT_IN}

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
    shown: Callable[[str], str] = in_comment,
) -> RenderedLaunch:
    """Render the kernel of one launch (RenderError if the template fails: a bug in tflgpu).

    `layouts` has the layout of each tensor that is not the whole of its argument, and `joint` the
    number of the argument of each that is read through one with others. `shown` gives the name of a
    constant as comments show it.
    """
    assert launch.group is not None
    group = launch.group
    columns, rows, outer = (
        -(-size // part) * part for size, part in zip(launch.grid, group, strict=True)
    )
    binding = Binding(launch, implementation, target, layouts, joint)
    binding.bind(op)
    names = _Body(op, binding, (columns, rows, outer))
    try:
        text = environment().get_template(launch.template).render(names.vocabulary())
    except (jinja2.TemplateError, TypeError) as error:
        line = getattr(error, "lineno", None)
        place = f"{launch.template}:{line}" if line else launch.template
        known = ", ".join(sorted(names.vocabulary()))
        raise RenderError(f"{place}: {error}; the names defined for it are {known}") from error
    statements = control.body_of(text)
    parameters = tuple(_parameter(argument, target) for argument in binding.arguments)
    axes = tuple(sorted(names.work_item.declared.items()))
    source = KernelSource(
        template=launch.template,
        name=PurePosixPath(launch.template).stem + launch.variant,
        language=target.language,
        lanes=target.lanes,
        parameters=parameters,
        group=group,
        axes=axes,
        shared=tuple(names.shared),
        half=binding.half,
        intrinsics=frozenset(binding.used),
        printed=_printed(launch.template, statements, target, axes, parameters, names.shared),
        hinted=statements.hinted,
    )
    return RenderedLaunch(
        source,
        (columns, rows, outer),
        tuple(_describe(binding, argument, shown) for argument in binding.arguments),
        tuple(argument.tensors for argument in binding.arguments),
        tuple(binding.arrays),
        binding.halved,
        launch.flops,
        launch.why,
    )


def _printed(
    template: str,
    statements: Statements,
    target: Target,
    axes: Iterable[tuple[int, str]],
    parameters: Iterable[Parameter],
    shared: Iterable[SharedArray],
) -> Printed:
    """The text of a kernel: its statements in its language."""
    if target.language != WGSL:
        declared = (*(name for _, name in axes), *(each.name for each in parameters))
        return Printer(target.language, target.lanes).printed(statements, frozenset(declared))
    arrays = {each.name: f"{each.element}[]" for each in parameters}
    arrays |= {each.name: f"{each.kind}[]" for each in shared}
    place = Name("gl_GlobalInvocationID")
    items = (
        Declare(INT, name, value=Call("int", Member(place, "xyz"[axis], INT)))
        for axis, name in axes
    )
    return print_kernel(template, body(*items, *statements.items), arrays)


def _parameter(argument: Argument, target: Target) -> Parameter:
    found = argument.accessor
    element = target.language.element(found.stored, target.lanes)
    constant = argument.tensor is None or argument.tensor.constant
    writable = argument.writes or not (constant or target.language.writes_beside)
    return Parameter(found.array, element, argument.writes, found.texel, writable)


def _describe(binding: Binding, argument: Argument, shown: Callable[[str], str]) -> str:
    found, tensor = argument.accessor, argument.tensor
    beside = "".join(f" and {list(other.shape)}" for other in argument.others)
    how = "row-major" if found.row_major else f"in slices of {found.lanes} channels"
    how += ", as an image" if found.texel else ""
    if tensor is None:
        contents = ", ".join(f"{shown(what)} from {base}" for what, base in binding.contents)
        return f"{found.array}: reads {contents}, {how}"
    if tensor.whole is not None:
        base = tensor.whole.row_base if found.row_major else tensor.whole.base
        how += f", as {tensor.whole.called} from {base}"
    how += ", within a larger one" if found.gaps else ""
    verb = "writes" if argument.writes else "reads"
    return f"{found.array}: {verb} {tensor.dtype} {list(tensor.shape)}{beside}, {how}"


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
        functions = control.vocabulary(self._target)
        scalars, slices = (self._functions_of(slices) for slices in (False, True))
        return {
            **self._binding.roles,
            **self.work_item.coordinates,
            **functions,
            **declarations.vocabulary(functions["unrolled"]),
            **_BUILT_IN,
            "apply": self.apply,
            "barrier": self.barrier,
            "clamp": clamp,
            "coordinate": coordinate,
            "FALSE": FALSE,
            "enter": self.work_item.enter,
            "enter_grid": self.work_item.enter_grid,
            "enter_linear": self.work_item.enter_linear,
            "formula": self.formula,
            "floats": FLOATS,
            "group": self._launch.group,
            "hexadecimal": self.hexadecimal,
            "horner": horner,
            "ints": INTS,
            "is_not": lambda condition: Unary("!", condition),
            "lane": self.lane,
            "literal": lambda value: literal(value, self._functions.use),
            "max": maximum,
            "min": minimum,
            "modules": {},
            "next": lambda place: Step(place, 1),
            "number": self.number,
            "pairs": PAIR,
            "real": HALF if half else FLOAT,
            "reals": HALVES if half else FLOATS,
            "S": lanes,
            "select": select,
            "share": self.share,
            "shift_right": lambda value, bits: value >> bits,
            "slice_loads": self._target.device.slice_loads,
            "splat": self.splat,
            "splat_ints": lambda value: self.splat(value, INTS),
            "store": self.store,
            "store_at": self.store_at,
            "store_joined": self.store_joined,
            "store_slice_at": self.store_slice_at,
            "sub_groups": self._target.sub_groups,
            "TRUE": TRUE,
            "to_float": scalars.to_float,
            "to_floats": slices.to_float,
            "to_int": scalars.to_int,
            "to_ints": slices.to_int,
            "uniform": self.uniform,
            "use": self._functions,
            "vector": self.vector,
            "without_alpha": lambda pixel: Member(pixel, "xyz", RGB),
            "write": self.write,
            "zero": language.zero(HALF if half else FLOAT, lanes),
            "zeros": language.zero(HALVES if half else FLOATS, lanes),
            **self._launch.variables,
        }

    def share(self, kind: str, name: str, count: int) -> Array:
        """An array of floats, integers or slices in local memory."""
        lanes = self._target.lanes if kind in LANE else 1
        element = self._target.language.name_of(kind, lanes)
        self.shared.append(SharedArray(element, name, count, 4 * lanes * count))
        return Array(name, count, kind)

    def barrier(self) -> Statements:
        """Wait until all work-items of the work-group are there."""
        return body(Evaluate(self._functions.wait_for_group()))

    def lane(self, value: Expression, number: int) -> Expression:
        """One lane of a slice that is a variable."""
        return lane(value, number, 4 if value.type in PIXELS else self._target.lanes)

    def splat(self, value: Operand, kind: str = FLOATS) -> Expression:
        """A slice with the same value in every lane."""
        return self.vector([value], kind)

    def vector(self, values: Sequence[Operand], kind: str = FLOATS) -> Expression:
        """A slice of as many values as it has lanes."""
        lanes = [
            Real(each) if kind == FLOATS and isinstance(each, int) else each for each in values
        ]
        return self._target.language.made(kind, self._target.lanes, *lanes)

    def hexadecimal(self, word: int) -> Expression:
        """An integer by its 32 bits."""
        if word < 2**31:
            return Numeral(f"0x{word:08x}", INT)
        return Unary("-", Numeral(f"0x{2**32 - word:08x}", INT))

    def formula(self, formula: Formula, *operands: Expression) -> Expression:
        """A formula of an operator table."""
        return self._functions.value(formula, *operands)

    def number(self, value: float) -> Expression:
        """A literal of the output's element type."""
        whole = self._output.element == "int"
        return literal(value, self._functions.use, "int32" if whole else "float32")

    @property
    def uniform(self) -> bool:
        """Whether the epilogue does not depend on the position in the output."""
        return not self._op.early_outputs and all(map(is_literal, self._op.epilogue_inputs))

    def apply(self, ops: Sequence[Op], value: Operand) -> Statements:
        """The statements that apply elementwise operators to a value and leave the result in `v`.

        The operators may otherwise read only scalar constants.
        """
        chain = Chain(FLOATS, self._functions)
        computed = [tensor for op in ops[:1] for tensor in op.reads if not tensor.constant]
        chain.start(computed[0] if computed else self._op.output, expression(value))
        operands = _OperandsAt(self._binding, self._written, self._functions, Position())
        chain.compute(ops, operands, {})
        return Statements(tuple(chain.statements))

    def write(
        self, value: Operand, batch: Operand, row: Operand, column: Operand, slice: Operand
    ) -> Statements:
        """The statements that store a slice to which the epilogue has already been applied."""
        return self._output.write(Position(batch, row, column, slice), expression(value))

    def store(
        self,
        value: Operand | None,
        batch: Operand,
        row: Operand,
        column: Operand,
        slice: Operand,
        beside: Sequence[Operand] = (),
    ) -> Statements:
        """The statements that run the epilogue on a slice and store it.

        With `value` None the slice is computed by the operator itself, which is elementwise.
        `beside` are further results of its core, which the epilogue reads.
        """
        return self._stored(value, FLOATS, Position(batch, row, column, slice), beside=beside)

    def store_joined(
        self,
        values: Sequence[Operand],
        batch: Operand,
        row: Operand,
        column: Operand,
        slice: Operand,
    ) -> Statements:
        """The statements for slices of neighbouring pixels, as many as are stored at once."""
        output, result = self._output, Name(RESULT, FLOATS)
        assert output.join
        joined = Declare(self._target.language.element(output.stored, output.lanes), "joined")
        parts = []
        for number, value in enumerate(values):
            place = Position(batch, row, column + number, slice)
            part = output.join.part(output.memory, number, output.keep_tail(place, result))
            parts.append(Copy(self._stored(value, FLOATS, place, body(part)), repeated=True))
        first = output.place(Position(batch, row, column, slice))
        index = Operation(">>", first, Number(output.together.bit_length() - 1))
        whole = Assign(Element(Name(output.array), index), "=", Name("joined"))
        return body(joined, *parts, whole)

    def store_at(
        self,
        value: Operand | None,
        index: Operand,
        within: tuple[Operand, Operand] | None = None,
    ) -> Statements:
        """The statements that run the epilogue on an element and store it at a flat index.

        `within` is the number of its row, and the place in it.
        """
        return self._stored(value, self._output.element, Position(index=index, within=within))

    def store_slice_at(
        self,
        value: Operand | None,
        index: Operand,
        within: tuple[Operand, Operand] | None = None,
        last: int = 0,
    ) -> Statements:
        """The statements for a slice of elements of a row, stored from a flat index on.

        With `last` only so many are stored: those before have been, by whoever shares the row.
        """
        lanes = self._target.lanes
        place = Position(index=index, lanes=lanes, last=last, within=within)
        return self._stored(value, FLOATS, place)

    def _stored(
        self,
        value: Operand | None,
        kind: str,
        position: Position,
        kept: Statements | None = None,
        beside: Sequence[Operand] = (),
    ) -> Statements:
        """The statements of a store; `kept` is the last one, if it is not a plain write."""
        op, half = self._op, self._binding.half
        stores = {
            tensor: partial(found.write, position) for tensor, found in self._binding.early.items()
        }
        ops = op.epilogue if self._binding.implementation.fuses else ()
        functions = self._functions_of(True) if position.lanes else self._functions
        chain = Chain(kind, functions)
        if value is not None and half:
            language, lanes = self._target.language, self._target.lanes
            given = (language.widen(expression(each), lanes) for each in (value, *beside))
            value, *beside = given
        if value is None:
            ops = (*op.core, *ops)
        elif not (ops or self._output.repeats or kept or position.last):
            return self._output.write(position, expression(value))
        else:
            results, known = op.core[-1].outputs, expression(value)
            chain.start(results[0], known, self._holds(known, kind) and kept is None)
            chain.hold(zip(results[1:], map(expression, beside), strict=False))
        operands = _OperandsAt(self._binding, self._written, functions, position)
        chain.compute(ops, operands, stores)
        assert chain.value is not None
        last = kept or self._output.write(position, chain.value)
        return body(*chain.statements, *last.items)

    def _holds(self, value: Expression, kind: str) -> bool:
        """Whether a value is a variable of a type."""
        names = (
            self._target.language.name_of(each, self._target.lanes) for each in (value.type, kind)
        )
        return isinstance(value, Name) and len(set(names)) == 1


@dataclass(frozen=True)
class _OperandsAt:
    """How operands of elementwise operators are read at a position of the output."""

    binding: Binding
    output: Tensor
    functions: KernelFunctions
    position: Position

    def read(self, tensor: Tensor) -> Expression:
        if is_literal(tensor):
            return self._literal(tensor)
        return self.binding.operands[tensor].broadcast(self.position, self.output.shape)

    def entry(self, tensor: Tensor, index: Expression) -> Expression:
        found = self.binding.operands[tensor]
        return found.entries(index) if self.functions.lanes else found.entry(index)

    def _literal(self, tensor: Tensor) -> Expression:
        assert tensor.data is not None
        value, lanes = tensor.data.reshape(()).item(), self.functions.lanes
        number = literal(value, self.functions.use, kernel_dtype(tensor.dtype))
        return self.functions.language.made(FLOATS, lanes, number) if lanes else number
