"""From a launch to kernel source: a template filled in, and the words it uses put in front.

The source names its entry point `@NAME@`, so that equal kernels are equal texts; `lower.py`
gives each distinct one its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import jinja2
import numpy as np

from ..devices import Profile
from ..errors import RenderError
from ..ir import Array, Op, Shape, Tensor
from ..ops.base import LINEAR_ROW, Kernel, Launch, Runs, device_dtype
from .accessors import LinearView, Position, RowsView, SlicedView, View
from .binding import NOWHERE, Binding, is_literal
from .epilogue import Step, literal, statements, steps
from .indexing import affine, horner
from .intrinsics import environment, prelude

ENTRY = "@NAME@"


@dataclass(frozen=True)
class Rendered:
    """The source of one launch, and what it binds to."""

    template: str
    source: str
    body: str
    """The source without the definitions in front of it."""
    grid: tuple[int, int, int]
    """Work-items, rounded up to whole groups."""
    group: tuple[int, int, int]
    parameters: tuple[str, ...]
    """What each parameter is, one line of text each, for the header of the file."""
    arguments: tuple[tuple[Tensor | None, bool], ...]
    """For each parameter the tensor (None: the constants) and whether it is written."""
    names: tuple[str, ...]
    """For each parameter its name in the source."""
    elements: tuple[str, ...]
    """For each parameter the type of its elements."""
    texels: tuple[int, ...]
    """For each parameter the bytes of a texel if it is an image, 0 if it is a buffer."""
    sub_group: int
    """Work-items of the sub-groups it relies on; 0 for none."""
    constants: Array | None
    flops: int
    why: str
    """Why tile and group are what they are."""


def render(
    op: Op,
    launch: Launch,
    kernel: Kernel,
    profile: Profile,
    dialect: str,
    places: Mapping[Tensor, Runs] = NOWHERE,
) -> Rendered:
    """The kernel of one launch (RenderError if the template fails: a bug in tflgpu).

    Each tensor in `places` lies in those runs of its argument, and is not the whole of it.
    """
    binding = Binding(launch, kernel, profile, places)
    binding.bind(op)
    assert launch.group is not None
    group = launch.group
    grid = tuple(-(-size // part) * part for size, part in zip(launch.grid, group, strict=True))
    context = _context(op, binding, launch, grid, dialect) | dict(launch.variables)
    context["group"] = group
    context["name"] = ENTRY
    context["parameters"] = [(view, writes) for _, writes, view in binding.arguments]
    try:
        frame = environment().get_template(f"dialects/{dialect}.jinja")
        context["frame"] = frame.make_module(context)
        body = environment().get_template(launch.template).render(context)
    except jinja2.TemplateError as error:
        line = getattr(error, "lineno", None)
        place = f"{launch.template}:{line}" if line else launch.template
        raise RenderError(f"{place}: {error}; context: {', '.join(sorted(context))}") from error
    body = body.strip("\n") + "\n"
    constants = np.concatenate(binding.arrays) if binding.arrays else None
    return Rendered(
        launch.template,
        prelude(dialect, profile.slice_width, body) + body,
        body,
        grid,  # type: ignore[arg-type]
        group,
        tuple(_describe(binding, *argument) for argument in binding.arguments),
        tuple((tensor, writes) for tensor, writes, _ in binding.arguments),
        tuple(view.array for _, _, view in binding.arguments),
        tuple(view.element for _, _, view in binding.arguments),
        tuple(view.texel for _, _, view in binding.arguments),
        profile.sub_group if "from_neighbour" in body else 0,
        constants,
        launch.flops,
        launch.why,
    )


def _describe(binding: Binding, tensor: Tensor | None, writes: bool, view: View) -> str:
    sliced = isinstance(view, SlicedView) and not isinstance(view, RowsView)
    how = f"in slices of {view.lanes} channels" if sliced else "row-major"
    how += ", as an image" if view.texel else ""
    if tensor is None:
        contents = ", ".join(f"{what} from {base}" for what, base in binding.contents)
        return f"{view.array}: reads {contents}, {how}"
    how += ", within a larger one" if view.gaps else ""
    verb = "writes" if writes else "reads"
    return f"{view.array}: {verb} {tensor.dtype} {list(tensor.shape)}, {how}"


def _context(
    op: Op, binding: Binding, launch: Launch, grid: tuple[int, ...], dialect: str
) -> dict[str, Any]:
    """What templates may name: views by role, position macros, stores, numbers."""
    output = binding.views[next(iter(launch.writes))]
    several = isinstance(output, SlicedView) or len(output.shape) <= 4
    batches = output.batches if several else 1
    batch = "gb" if batches > 1 else "0"
    ragged = [axis for axis in range(3) if grid[axis] != launch.grid[axis]]

    def guard() -> str:
        """Return from work-items past the end of the grid, where groups do not divide it."""
        names = ("gx", "gy", "gs")
        outside = " || ".join(f"{names[axis]} >= {launch.grid[axis]}" for axis in ragged)
        return f"if ({outside}) return;" if ragged else ""

    def enter(outer: int) -> str:
        """Work-item to column gx, row gy, outer index gs and, if there are several, batch gb."""
        lines = ["int gx = global_id(0);", "int gy = global_id(1);", "int gs = global_id(2);"]
        lines += [guard()] if ragged else []
        if batches > 1:
            lines += [f"int gb = gs / {outer};", f"gs = gs % {outer};"]
        return "\n".join(lines)

    def enter_linear(shape: Shape) -> str:
        """Work-item to the flat index of an element."""
        count = prod(shape)
        if count <= LINEAR_ROW:
            lines = ["int index = global_id(0);"]
        else:
            lines = [f"int index = global_id(1) * {LINEAR_ROW} + global_id(0);"]
        ragged_row = 0 in ragged if count <= LINEAR_ROW else count % LINEAR_ROW
        if ragged_row:
            lines.append(f"if (index >= {count}) return;")
        return "\n".join(lines)

    chain = steps(op) if binding.kernel.fuses else []

    def read_operand(position: Position) -> Callable[[Tensor], str]:
        def read(tensor: Tensor) -> str:
            if is_literal(tensor):
                assert tensor.data is not None
                value = literal(tensor.data.reshape(()).item(), device_dtype(tensor.dtype))
                value = f"({value})" if value.startswith("-") else value
                return f"splatS({value})" if binding.sliced else value
            view = binding.operands[tensor]
            if isinstance(view, SlicedView):
                return view.broadcast(position, output.channels)
            return view.broadcast(position, launch.writes["y"].shape)

        return read

    def number(value: float) -> str:
        """A constant of the type of the output's elements."""
        return literal(value, "int32" if output.element == "int" else "float32")

    def apply(producer: Op, value: str) -> str:
        """Statements that leave in `v` what an operator's post-operators make of its value."""
        chain = steps(producer)
        return "\n".join(statements(chain, value, "floatS", read_operand(Position())))

    def stored(value: str | None, kind: str, position: Position) -> str:
        """Statements that run the post-operators on a value and write what is to be kept."""
        saves = {number: view.write(position, "v") for number, view in binding.early.items()}
        lines = statements(chain, value, kind, read_operand(position), saves)
        return "\n".join([*lines, output.write(position, "v")])

    def write(value: str, batch: str, row: str, column: str, slice: str) -> str:
        """The statement that writes a slice, which post-operators were applied to before."""
        return output.write(Position(batch, row, column, slice), value)

    def store(value: str | None, batch: str, row: str, column: str, slice: str) -> str:
        """Statements that run the post-operators on a slice and write it."""
        assert isinstance(output, SlicedView)
        return stored(value, "floatS", Position(batch, row, column, slice))

    def store_at(value: str | None, index: str) -> str:
        """Statements that run the post-operators on an element and write it."""
        assert isinstance(output, LinearView)
        return stored(value, output.element, Position(index=index))

    return {
        **binding.views,
        "affine": affine,
        "apply": apply,
        "batch": batch,
        "component": lambda lane: f"s{lane:x}" if dialect == "opencl" else "xyzw"[lane],
        "enter": enter,
        "enter_linear": enter_linear,
        "guard": guard,
        "horner": horner,
        "literal": literal,
        "number": number,
        "S": binding.lanes,
        "store": store,
        "store_at": store_at,
        "sub_group": binding.profile.sub_group,
        "uniform": _uniform(chain) and not binding.early,
        "write": write,
    }


def _uniform(chain: Sequence[Step]) -> bool:
    """Whether post-operators do the same to a value wherever it stands in the output."""
    operands = (operand for step in chain for operand in step.operands)
    return all(isinstance(operand, int) or is_literal(operand) for operand in operands)
