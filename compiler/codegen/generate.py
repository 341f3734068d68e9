"""Generation of a plan's kernels: renders every launch, and keeps each distinct source once."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from ...runtime.plan.storage import WORD
from ..errors import SPLIT, Finding, UnfitKernelError
from ..ir import Op, Origin
from ..memory.allocation import Allocation
from ..ops.base.launch import Launch
from ..ops.litert_part import LITERT
from ..sizing.sizes import SizedOp
from ..target import Target
from .comments import described, names_in_comments
from .generated import GeneratedLaunch, Kernels, computed
from .kernel_source import KernelSource, fill
from .rendering.render import RenderedLaunch, render
from .shared_kernels import shared
from .wgsl.types import size


def generate(allocation: Allocation, progress: Callable[[], None] = lambda: None) -> Kernels:
    """Render the launches of an arrangement.

    `progress` is called after each operator. UnfitKernelError if the driver would end loops,
    RenderError if a template fails, which is a bug in tflgpu.
    """
    shown = names_in_comments(allocation.arrangement.order)
    launches: list[GeneratedLaunch] = []
    host_steps: dict[Op, int] = {}
    unfit: list[Finding] = []
    for sized in allocation.arrangement.order:
        if sized.op.name == LITERT:
            host_steps[sized.op] = len(launches)
        for launch in sized.launches if sized.op.name != LITERT else ():
            launches.append(_generated(sized, launch, allocation, shown))
            unfit += _too_long(launches[-1], allocation.target)
        progress()
    if unfit:
        raise UnfitKernelError(unfit)
    launches, numbers = _numbered(launches, allocation.target)
    users: dict[int, list[GeneratedLaunch]] = {number: [] for number in numbers.values()}
    for item in launches:
        users[item.kernel].append(item)
    records, sources, comments = [], {}, {}
    for source, number in numbers.items():
        name = f"{source.name}_{number:03}"
        file = f"kernels/{number:03}_{source.name}{source.language.suffix}"
        comments[file] = described(name, users[number], shown)
        frame = source.frame(name, comments[file])
        sources[file], bodies = fill(frame, [(number, source.text)])
        iterations = max(item.rendered.iterations for item in users[number])
        records.append(source.record(name, file, sources[file], bodies, iterations))
    return Kernels(tuple(launches), tuple(records), sources, comments, host_steps)


def _generated(
    sized: SizedOp, launch: Launch, allocation: Allocation, shown: Callable[[str], str]
) -> GeneratedLaunch:
    placement = allocation.placement(sized, launch)
    rendered = render(sized, launch, allocation.target, placement, shown)
    limits = {launch.reads[role]: sizes for role, sizes in launch.limits.items()}
    packed = launch.packed.values()
    counted, reads = _counted(rendered, allocation), sized.implementation.reads
    return GeneratedLaunch(sized.op, reads, packed, counted, limits)


def _too_long(launch: GeneratedLaunch, target: Target) -> list[Finding]:
    """Why the loops of a kernel do not fit the device; nothing if they do."""
    iterations, most = launch.rendered.iterations, target.device.loop_iterations
    if iterations <= most:
        return []
    reason = (
        f"the loops of {computed(launch.op)} may take {iterations} iterations, but the driver ends "
        f"them after {most}"
    )
    return findings(launch.op, reason)


def findings(op: Op, reason: str) -> list[Finding]:
    """Why the kernel of an operator does not fit, for each operator of the model in it."""
    origins = op.origins or (Origin(op.index, op.name),)
    return [Finding(each.index, each.name, reason, SPLIT) for each in origins]


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


def _numbered(
    launches: Sequence[GeneratedLaunch], target: Target
) -> tuple[list[GeneratedLaunch], dict[KernelSource, int]]:
    """The launches with the numbers of their kernels, of which each source is one.

    Where kernels are compiled at the start, some are for several sizes.
    """
    work = Counter[KernelSource]()
    for item in launches:
        work[item.rendered.source] += item.rendered.flops
    several = target.language.compiled_at_start
    kernels = shared(work, target.device.max_arguments) if several else {}
    numbers: dict[KernelSource, int] = {}
    found = []
    for item in launches:
        source, sizes = kernels.get(item.rendered.source, (item.rendered.source, ()))
        number = numbers.setdefault(source, len(numbers))
        found.append(replace(item, kernel=number, sizes=sizes))
    return found, numbers
