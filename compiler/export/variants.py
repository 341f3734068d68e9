"""The tables of a variant: the devices it is for, what it needs of them, and its schedules."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import fields

from ...runtime.cache.variant import Variant
from ...runtime.opencl.programs import join_sources
from ...runtime.plan.records import Argument, Persistent, Plan
from ...runtime.plan.running import Limits, Schedule
from ..devices import Rule, profiles
from .literals import array, braced, pieces, string
from .weights import Span


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


def span_table(number: int, spans: Sequence[Span]) -> str:
    """Where a variant's weights lie in the file, for all its signatures."""
    return array(
        "tflgpu_span",
        f"spans_{number}",
        [braced((span.to, span.start, span.size)) for span in spans],
    )


def variant_tables(variant: Variant, number: int, spans: int, prefix: str) -> tuple[str, str]:
    """The tables, named from `prefix`, of a variant's row with so many spans, and that row."""
    plan, needs = variant.plan, variant.plan.needs
    kinds = ("dispatches", "persistent")[: len(plan.schedules)]
    names = [f"{prefix}{kind}_{number}" for kind in kinds]
    tables = [
        schedule_table(variant, schedule, name)
        for name, schedule in zip(names, plan.schedules, strict=True)
    ]
    rules = [_rule(rule, each) for rule in _rules(variant) for each in rule.instructions or ("",)]
    ruled = f"{prefix}rules_{number}" if rules else "NULL"
    if rules:
        tables.append(array("tflgpu_rule", ruled, rules))
    text = "\n\n".join(tables)
    # Of what compiled kernels depend on.
    digest = hashlib.sha256(text.encode() + plan.weights_sha256).hexdigest()[:32]
    fields = (
        f"{string(plan.profile)}, {string(digest)}",
        f"{ruled}, {len(rules)}",
        f"/* needs */ {_limits(needs)}, {_text(' '.join(needs.extensions))}",
        f"/* arena */ {plan.arena_size}, /* weights */ {plan.weights_size}",
        f"{f'spans_{number}' if spans else 'NULL'}, {spans}",
        ", ".join(f"&{name}" for name in names) + ("" if len(names) > 1 else ", NULL"),
    )
    return text, "{" + ",\n     ".join(fields) + "}"


def _rules(variant: Variant) -> list[Rule]:
    """Those of its profile for its target; a profile of the user's own has none."""
    profile = profiles().get(variant.plan.profile)
    rules = profile.match if profile else ()
    return [rule for rule in rules if rule.target in ("", variant.plan.target)]


def _rule(rule: Rule, instruction: str) -> str:
    """A rule in C, with one of its instructions if it has any."""
    parts = (rule.vendor, rule.platform, rule.name)
    texts = (rule.type, *(part.lower() for part in parts), rule.extension)
    numbers = (rule.lanes, _text(instruction))
    return braced((len(rule.conditions), *map(_text, texts), *numbers))


def _text(value: str) -> str:
    return string(value) if value else "NULL"


def _limits(needs: Limits) -> str:
    """All but the extensions, as `tflgpu_limits` has them."""
    values = (getattr(needs, field.name) for field in fields(needs) if field.name != "extensions")
    return braced(braced(each) if isinstance(each, tuple) else each for each in values)
