"""The tables of a schedule: kernels with their source, steps and arguments."""

from __future__ import annotations

from collections.abc import Iterator

from ...runtime.cache.variant import Variant
from ...runtime.opencl.sources import join_sources
from ...runtime.plan.records import Argument, Persistent, Plan
from ...runtime.plan.running import Schedule
from .literals import array, braced, pieces, string


def schedule_table(variant: Variant, schedule: Schedule, name: str) -> str:
    """The schedule called `name`, after the tables that it points to."""
    plan = variant.plan
    launched = [plan.launched(submission) for submission in schedule.submissions]
    arguments = [argument for each in launched for argument in each.arguments]
    texts, kernels = _kernels(variant, schedule)
    tables = (
        ("char *const", "source", texts or ['""']),
        ("tflgpu_kernel", "kernels", kernels or ["{NULL, 0, 0}"]),
        ("tflgpu_argument", "arguments", [*map(_argument, arguments)] or ["{0, 1, 0, 0, 0, 0}"]),
        (
            *("tflgpu_step", "steps"),
            [*_steps(plan, schedule)] or ["{0, 0, {0, 0, 0}, {0, 0, 0}, 0, 0, 0}"],
        ),
    )
    return "\n\n".join(
        [
            f"/* -- {name} {'-' * (89 - len(name))} */",
            *(array(kind, f"{name}_{part}", rows) for kind, part, rows in tables),
            f"static const tflgpu_schedule {name} = {{\n"
            f"    {name}_source, {max(1, len(texts))},\n"
            f"    {string(schedule.options)},\n"
            f"    {name}_kernels, {len(kernels)}, {name}_steps, {len(launched)}, "
            f"{name}_arguments,\n}};",
        ]
    )


def _kernels(variant: Variant, schedule: Schedule) -> tuple[list[str], list[str]]:
    """The pieces of source, and the kernels: in OpenCL C one program, in GLSL one for each."""
    kernels = [variant.plan.kernels[index] for index in schedule.kernels]
    sources = {kernel.file: variant.sources[kernel.file] for kernel in kernels}
    if variant.plan.target == "opencl":
        texts = [*pieces(join_sources(sources))]
        return texts, [braced((string(kernel.name), 0, len(texts))) for kernel in kernels]
    texts, rows = [], []
    for kernel in kernels:
        first = len(texts)
        texts += pieces(sources[kernel.file])
        rows.append(braced((string(kernel.name), first, len(texts) - first)))
    return texts, rows


def _steps(plan: Plan, schedule: Schedule) -> Iterator[str]:
    first = 0
    for submission in schedule.submissions:
        launched = plan.launched(submission)
        if isinstance(launched, Persistent):
            grid, counters = (1, 1, 1), launched.counters
        else:
            grid, counters = launched.grid, 0
        kernel, count = schedule.kernels.index(launched.kernel), len(launched.arguments)
        group = braced(plan.kernels[launched.kernel].group)
        yield braced((kernel, int(submission.barrier), braced(grid), group, counters, first, count))
        first += count


def _argument(argument: Argument) -> str:
    whole = int(argument.whole and not argument.texel)
    region = f"TFLGPU_{argument.region.name}"
    return braced((region, whole, argument.texel, argument.index, argument.offset, argument.size))
