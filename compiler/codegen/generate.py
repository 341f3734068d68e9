"""Generation of a plan's kernels: renders every launch, and keeps each distinct source once."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...runtime.plan.kernels import Kernel
from ...runtime.plan.storage import WORD
from ..errors import SPLIT, Finding, UnfitKernelError
from ..ir import Op, Origin, Tensor
from ..ir.short_names import short_names, with_short_names
from ..language.wrapping import comment, in_comment
from ..memory.allocation import Allocation
from ..memory.lifetimes import touched
from ..ops.base.launch import Launch
from ..ops.base.view import StridedLayout
from ..ops.litert_part import LITERT
from ..sizing.sizes import SizedOp
from ..target import Target
from .kernel_source import KernelSource, fill
from .rendering.render import RenderedLaunch, render
from .shared_kernels import shared
from .wgsl.kernel import SIZES
from .wgsl.types import size

# Launches that the comment at the top of a kernel lists, its own last line among them.
MOST_USES = 4


@dataclass(frozen=True)
class GeneratedLaunch:
    """A rendered launch with its operator and kernel."""

    op: Op
    reads: str  # The storage in which the kernel reads tensors.
    packed: Collection[Tensor]  # Constants that it reads in slices whatever that is.
    rendered: RenderedLaunch
    kernel: int
    # What the indices in each tensor of indices must stay below.
    limits: Mapping[Tensor, Sequence[int]]
    # What the kernel reads after the arguments of `rendered`, if it computes several sizes.
    sizes: tuple[int, ...] = ()

    @property
    def title(self) -> str:
        """The model's operators that it computes, as "3 CONV_2D + 4 RELU6"; else its own name."""
        return " + ".join(map(str, self.op.origins)) or computed(self.op)


@dataclass(frozen=True)
class Kernels:
    """The launches of a plan in the order of execution, and their kernels."""

    launches: tuple[GeneratedLaunch, ...]
    records: tuple[Kernel, ...]  # The kernels as the plan lists them.
    sources: Mapping[str, str]
    comments: Mapping[str, str]  # The comment at the top of each, by file.
    # The parts that run on LiteRT, with the number of launches before each.
    host_steps: Mapping[Op, int]


def generate(allocation: Allocation, progress: Callable[[], None] = lambda: None) -> Kernels:
    """Render the launches of an arrangement.

    `progress` is called after each operator. UnfitKernelError if the driver would end loops,
    RenderError if a template fails, which is a bug in tflgpu.
    """
    target, order = allocation.target, allocation.arrangement.order
    shown = _names_in_comments(order)
    launches: list[GeneratedLaunch] = []
    numbers: dict[KernelSource, int] = {}
    host_steps: dict[Op, int] = {}
    unfit: list[Finding] = []
    for sized in order:
        op = sized.op
        if op.name == LITERT:
            host_steps[op] = len(launches)
        for launch in sized.launches if op.name != LITERT else ():
            layouts, joint = _places(sized, launch, allocation)
            rendered = render(op, launch, sized.implementation, target, layouts, joint, shown)
            if rendered.iterations > target.device.loop_iterations:
                unfit += findings(op, _too_long(op, rendered.iterations, target))
            rendered = _counted(rendered, allocation)
            number = numbers.setdefault(rendered.source, len(numbers))
            reads = sized.implementation.reads
            limits = {launch.reads[role]: sizes for role, sizes in launch.limits.items()}
            packed = launch.packed.values()
            launches.append(GeneratedLaunch(op, reads, packed, rendered, number, limits))
        progress()
    if unfit:
        raise UnfitKernelError(unfit)
    if target.language.compiled_at_start:
        launches, numbers = _with_shared(launches, target.device.max_arguments)
    users: dict[int, list[GeneratedLaunch]] = {number: [] for number in numbers.values()}
    for item in launches:
        users[item.kernel].append(item)
    names = {number: f"{source.name}_{number:03}" for source, number in numbers.items()}
    records, sources, comments = [], {}, {}
    for source, number in numbers.items():
        file = f"kernels/{number:03}_{source.name}{source.language.suffix}"
        comments[file] = comment(_described(names[number], users[number], shown))
        frame = source.frame(names[number], comments[file])
        text, bodies = fill(frame, [(number, source.text)])
        iterations = max(item.rendered.iterations for item in users[number])
        records.append(source.record(names[number], file, text, bodies, iterations))
        sources[file] = text
    return Kernels(tuple(launches), tuple(records), sources, comments, host_steps)


def _too_long(op: Op, iterations: int, target: Target) -> str:
    return (
        f"the loops of {computed(op)} may take {iterations} iterations, but the driver ends them "
        f"after {target.device.loop_iterations}"
    )


def findings(op: Op, reason: str) -> list[Finding]:
    """Why the kernel of an operator does not fit, for each operator of the model in it."""
    origins = op.origins or (Origin(op.index, op.name),)
    return [Finding(each.index, each.name, reason, SPLIT) for each in origins]


def _places(
    sized: SizedOp, launch: Launch, allocation: Allocation
) -> tuple[Mapping[Tensor, StridedLayout], Mapping[Tensor, int]]:
    """The layouts of the tensors of a launch within its arguments, and which of those they share.

    Buffers that are bound as ones that are written must not overlap.
    """
    layouts = allocation.layouts
    if allocation.target.language.writes_beside:
        return layouts, {}
    written = (*launch.writes.values(), *sized.op.early_outputs)
    read = {each for each in touched(sized, launch) if not each.constant}
    joint = allocation.joint(sorted(read.difference(written), key=lambda each: each.name))
    return {**layouts, **joint.layouts}, joint.numbers


def _counted(rendered: RenderedLaunch, allocation: Allocation) -> RenderedLaunch:
    """The launch with the number of elements of its arrays, for languages that check indices.

    Checks against a constant take less time than those against the size of what is bound.
    """
    source = rendered.source
    if not source.language.counts_elements:
        return rendered
    constants = sum(each.size for each in rendered.constants) * (WORD // (1 + rendered.halved))
    parameters = []
    for parameter, tensors in zip(source.parameters, rendered.tensors, strict=True):
        length = 0 if tensors else constants
        if tensors and not tensors[0].constant:
            length = allocation.argument(tensors, parameter.writes).size
        parameters.append(replace(parameter, count=length // size(parameter.element)))
    return replace(rendered, source=replace(source, parameters=tuple(parameters)))


def _with_shared(
    launches: Iterable[GeneratedLaunch], most: int
) -> tuple[list[GeneratedLaunch], dict[KernelSource, int]]:
    """The launches with kernels for several sizes, of which each has so many buffers at most."""
    work = Counter[KernelSource]()
    for item in launches:
        work[item.rendered.source] += item.rendered.flops
    kernels = shared(work, most)
    numbers: dict[KernelSource, int] = {}
    found = []
    for item in launches:
        source, sizes = kernels[item.rendered.source]
        number = numbers.setdefault(source, len(numbers))
        found.append(replace(item, kernel=number, sizes=sizes))
    return found, numbers


def _names_in_comments(order: Sequence[SizedOp]) -> Callable[[str], str]:
    """Gives the name of a tensor as comments show it; long names are shortened."""
    tensors = (
        tensor
        for sized in order
        for launch in sized.launches
        for tensor in (*touched(sized, launch), *launch.packed.values())
    )
    short = short_names({tensor.name: None for tensor in tensors})
    return lambda name: in_comment(with_short_names(name, short))


def _described(name: str, users: list[GeneratedLaunch], shown: Callable[[str], str]) -> list[str]:
    """The comment at the top of a kernel's file: what it computes, its parameters and its uses."""
    alike: dict[KernelSource, list[GeneratedLaunch]] = {}
    for item in users:
        alike.setdefault(item.rendered.source, []).append(item)
    lines = [f"{name}: {computed(users[0].op)}"]
    for source, (first, *more) in alike.items():
        grid, group = (" x ".join(map(str, size)) for size in (first.rendered.grid, source.group))
        lines += [
            *first.rendered.described,
            *([f"{SIZES}: {', '.join(map(str, first.sizes))}"] if first.sizes else []),
            *(["multiplies and adds in half precision"] if source.half else []),
            f"grid {grid} in groups of {group}",
            *_uses((first, *more), shown),
        ]
    return lines


def _uses(launches: Sequence[GeneratedLaunch], shown: Callable[[str], str]) -> Iterator[str]:
    """The operators and tensors of launches; of many, only of the first ones."""
    listed = launches if len(launches) <= MOST_USES else launches[: MOST_USES - 1]
    for item in listed:
        yield f"{_operators(item)}: {_tensors(item.rendered, shown)}"
    if len(listed) < len(launches):
        yield f"and {len(launches) - len(listed)} more launches"


def _operators(launch: GeneratedLaunch) -> str:
    several = len(launch.op.origins or launch.op.ops) > 1
    return f"operator{'s' if several else ''} {launch.title}"


def computed(op: Op) -> str:
    """The operators a kernel computes, such as "CONV_2D + RELU6"."""
    return " + ".join(inner.name for inner in op.ops)


def _tensors(rendered: RenderedLaunch, shown: Callable[[str], str]) -> str:
    """The tensor of the model bound to each parameter."""
    bound = zip(rendered.source.parameters, rendered.tensors, strict=True)
    return ", ".join(
        f"{array.name} = {shown(tensor.name)}" for array, each in bound for tensor in each
    )
