"""What a run executes, as the report lists it: dispatches, and parts on the host."""

from ...runtime.plan.records import Argument, Dispatch, Plan, Region
from .dataflow import Tensors
from .decisions import Decisions
from .graphs import Json, described
from .profile import Profile, Time


def dispatches_of(plan: Plan, decisions: Decisions | None, profile: Profile | None) -> list[Json]:
    """Every dispatch with its tensors, the reasons for its kernel, and its time."""
    tensors = Tensors(plan.tensors)
    numbers = {id(tensor): number for number, tensor in enumerate(plan.tensors)}

    def argument(item: Argument, dispatch: int) -> Json:
        weights = item.region is Region.WEIGHTS
        tensor = None if weights else tensors.at(item, dispatch)
        return {
            "tensor": None if tensor is None else numbers[id(tensor)],
            "region": item.region.name.lower(),
            "offset": item.offset,
            "size": item.size,
            "writes": item.writes,
        }

    return [
        {
            "label": dispatch.label,
            "kernel": dispatch.kernel,
            "grid": dispatch.grid,
            "why": dispatch.why,
            "flops": dispatch.flops,
            "bytes": sum(item.size for item in dispatch.arguments),
            "operators": dispatch.operators,
            "arguments": [argument(item, number) for item in dispatch.arguments],
            "chosen": _chosen(decisions, dispatch),
            **_time(profile.kernels[number] if profile else None),
        }
        for number, dispatch in enumerate(plan.dispatches)
    ]


def parts_of(plan: Plan, decisions: Decisions | None, profile: Profile | None) -> list[Json]:
    """Every part on LiteRT or in Python, with the reasons why its operators run there."""
    findings = decisions.fallback if decisions else {}
    return [
        {
            "label": part.label,
            "file": part.file,
            "host": "Python" if part.function else "LiteRT",
            "before": part.before,
            "operators": part.operators,
            "reads": [described(plan.host_tensors[index]) for index in part.inputs],
            "writes": [described(plan.host_tensors[index]) for index in part.outputs],
            "reasons": [str(findings[index]) for index in part.operators if index in findings],
            **_time(profile.fallback[number] if profile else None),
        }
        for number, part in enumerate(plan.parts)
    ]


def _chosen(decisions: Decisions | None, dispatch: Dispatch) -> list[Json]:
    found = decisions.chosen.get(dispatch.operators, []) if decisions else []
    keys = ("implementation", "others", "unsupported")
    return [{key: getattr(item, key) for key in keys} for item in found if dispatch.operators]


def _time(time: Time | None) -> Json:
    return {"ms": time.whole_ms if time else None, "roofline": time.roofline if time else None}
