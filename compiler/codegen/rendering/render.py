"""Rendering: from a launch to the source of its kernel."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

import jinja2

from ...errors import RenderError
from ...ir import Tensor
from ...language.expression import Name
from ...language.language import WGSL
from ...language.primary import Call, Member
from ...language.printing import CPrinter
from ...language.statement import Declare, Printed, Statements, body
from ...language.types import INT
from ...memory.allocation import Placement
from ...ops.base.launch import Constant, Grid, Launch
from ...sizing.sizes import SizedOp
from ...target import Target
from ..binding import Argument, Binding
from ..kernel_source import KernelSource, Parameter, SharedArray
from ..wgsl import print_kernel
from . import control
from .environment import environment
from .vocabulary import Vocabulary


@dataclass(frozen=True)
class RenderedLaunch:
    """The kernel of one launch, and its grid and arguments."""

    source: KernelSource
    grid: Grid  # Work-items, rounded up to whole groups.
    # A line of text about each parameter, for the kernel's header comment.
    described: tuple[str, ...]
    # The tensors bound to each parameter; none for the constants.
    tensors: tuple[tuple[Tensor, ...], ...]
    constants: tuple[Constant, ...]  # The contents of the constants, which follow one another.
    halved: bool  # Whether they do so as float16, not as float32.
    flops: int
    iterations: int  # The most rounds that all loops of a work-item make together.
    why: str


def render(
    sized: SizedOp,
    launch: Launch,
    target: Target,
    placement: Placement,
    shown: Callable[[str], str],
) -> RenderedLaunch:
    """Render the kernel of one launch (RenderError if the template fails: a bug in tflgpu).

    `shown` gives the name of a constant as comments show it.
    """
    assert launch.group is not None
    group = launch.group
    columns, rows, outer = (
        -(-size // part) * part for size, part in zip(launch.grid, group, strict=True)
    )
    binding = Binding(launch, sized.implementation, target, placement)
    binding.bind(sized.op)
    vocabulary = Vocabulary(sized.op, binding, (columns, rows, outer))
    names = vocabulary.names()
    try:
        text = environment().get_template(launch.template).render(names)
    except (jinja2.TemplateError, TypeError) as error:
        line = getattr(error, "lineno", None)
        place = f"{launch.template}:{line}" if line else launch.template
        known = ", ".join(sorted(names))
        raise RenderError(f"{place}: {error}; the names defined for it are {known}") from error
    statements = control.body_of(text)
    parameters = tuple(_parameter(argument, target) for argument in binding.arguments)
    axes = tuple(sorted(vocabulary.work_item.declared.items()))
    source = KernelSource(
        template=launch.template,
        name=PurePosixPath(launch.template).stem + launch.variant,
        language=target.language,
        lanes=target.lanes,
        parameters=parameters,
        group=group,
        axes=axes,
        shared=tuple(vocabulary.shared),
        half=binding.half,
        intrinsics=frozenset(binding.used),
        printed=_printed(launch.template, statements, target, axes, parameters, vocabulary.shared),
        hinted=statements.hinted,
        on_processor=target.on_processor,
    )
    return RenderedLaunch(
        source,
        (columns, rows, outer),
        tuple(_describe(binding, argument, shown) for argument in binding.arguments),
        tuple(argument.tensors for argument in binding.arguments),
        tuple(binding.constants.arrays),
        binding.constants.halved,
        launch.flops,
        statements.iterations,
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
        return CPrinter(target.language, target.lanes, declared).printed(statements)
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
        contents = ", ".join(
            f"{shown(what)} from {base}" for what, base in binding.constants.contents
        )
        return f"{found.array}: reads {contents}, {how}"
    if tensor.whole is not None:
        base = tensor.whole.row_base if found.row_major else tensor.whole.base
        how += f", as {tensor.whole.called} from {base}"
    how += ", in half precision" if tensor.halved else ""
    how += ", within a larger one" if found.gaps else ""
    verb = "writes" if argument.writes else "reads"
    return f"{found.array}: {verb} {tensor.dtype} {list(tensor.shape)}{beside}, {how}"
