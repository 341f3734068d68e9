"""What the report shows of a compiled model, as one value of plain JSON types.

Sources of kernels are highlighted HTML.
"""

from collections.abc import Mapping
from dataclasses import asdict
from html import escape
from itertools import groupby
from typing import Any

from pygments.lexer import Lexer
from pygments.lexers.c_cpp import CLexer
from pygments.lexers.graphics import GLShaderLexer
from pygments.token import Comment, Keyword, Literal, Name

from ...runtime.cache.variant import Variant
from ...runtime.plan.records import Argument, Dispatch, Plan, Region, TensorInfo
from ...runtime.plan.storage import storage_of
from ..errors import OptionError
from ..tools.machine_code import MachineCode
from .changes import changes, compare, figures
from .dataflow import Tensors
from .decisions import Decisions, options_of, rewrites_of
from .graphs import Json, described, drawn, drawn_kernels
from .profile import Profile, Time


def contents(
    variant: Variant,
    decisions: Decisions | None = None,
    profile: Profile | None = None,
    compared: Profile | None = None,
    machine_code: Mapping[str, MachineCode] | None = None,
    other: Variant | None = None,
) -> Json:
    """Everything the page shows.

    `decisions` add the graph in the model file and the reasons for each kernel, `profile` the
    times, `compared` those to compare with, `machine_code` what a GPU's compiler makes of each
    kernel, by name, and `other` is a variant of the same model to compare with.

    PlanError if the plan's options or rewrites are malformed, OptionError if the profile is not of
    this variant, or the other variant not of this model.
    """
    plan = variant.plan
    if profile is not None:
        _check(profile, plan)
    if other is not None and other.plan.fingerprint != plan.fingerprint:
        raise OptionError(
            f"{other.folder} was compiled from another model, {other.plan.model}; compare "
            f"{plan.model} with a variant of the same file"
        )
    file = decisions.graph if decisions else None
    return {
        "model": _model(plan),
        "graphs": {
            "kernels": drawn_kernels(plan),
            "operators": file and drawn(plan, file.nodes, file.edges),
        },
        "note": decisions.note if decisions else "",
        "dispatches": _dispatches(plan, decisions, profile),
        "parts": parts_of(plan, decisions, profile),
        "kernels": _kernels(variant, machine_code or {}),
        "tensors": [
            {**asdict(each), "region": each.region.name.lower(), "storage": storage_of(each)}
            for each in plan.tensors
        ],
        "rewrites": rewrites_of(plan),
        "profile": _profile(profile) if profile else None,
        "compared": _profile(compared) if compared else None,
        "comparison": [asdict(item) for item in compare(profile, compared)]
        if profile and compared
        else [],
        "changes": _changes(variant, other) if other else None,
    }


def _changes(variant: Variant, other: Variant) -> Json:
    return {
        "before": f"{other.plan.target}, {other.plan.profile}, {other.plan.precision}",
        "folder": other.folder.name,
        "figures": [asdict(item) for item in figures(variant.plan, other.plan)],
        "rows": [asdict(item) for item in changes(variant, other)],
    }


def _check(profile: Profile, plan: Plan) -> None:
    """OptionError unless a profile has this plan's dispatches and parts."""
    measured = [time.label for time in (*profile.kernels, *profile.fallback)]
    labels = [item.label for item in plan.dispatches] + [part.label for part in plan.parts]
    if measured != labels:
        raise OptionError(
            f"{profile.path} has the times of {profile.model} for {profile.target}, "
            f"{profile.profile}, but the kernels of this variant, for {plan.target}, "
            f"{plan.profile}, are others; measure it with the options that it was compiled with, "
            f"or give the file with --compare"
        )


def _model(plan: Plan) -> Json:
    return {
        **{key: getattr(plan, key) for key in ("compiler", "fingerprint", "target", "precision")},
        "name": plan.model,
        "profile": plan.profile,
        "options": options_of(plan),
        "inputs": list(map(_info, plan.inputs)),
        "outputs": list(map(_info, plan.outputs)),
        "variables": [variable.name for variable in plan.variables],
        "memory": asdict(plan.memory),
        "arena": plan.arena_size,
        "weights": plan.weights_size,
        "launches": plan.launches,
        "persistent": [
            {"kernel": record.kernel, "first": record.first, "end": record.end}
            for record in plan.persistent
        ],
    }


def _info(info: TensorInfo) -> Json:
    return {"name": info.name, "dtype": info.dtype, "shape": info.shape}


def _dispatches(plan: Plan, decisions: Decisions | None, profile: Profile | None) -> list[Json]:
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
            **_measured(profile.kernels[number] if profile else None),
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
            **_measured(profile.fallback[number] if profile else None),
        }
        for number, part in enumerate(plan.parts)
    ]


def _chosen(decisions: Decisions | None, dispatch: Dispatch) -> list[Json]:
    found = decisions.chosen.get(dispatch.operators, []) if decisions else []
    keys = ("implementation", "others", "unsupported")
    return [{key: getattr(item, key) for key in keys} for item in found if dispatch.operators]


def _measured(time: Time | None) -> Json:
    return {"ms": time.whole_ms if time else None, "roofline": time.roofline if time else None}


def _kernels(variant: Variant, machine_code: Mapping[str, MachineCode]) -> list[Json]:
    lexer = CLexer() if variant.plan.target == "opencl" else GLShaderLexer()
    return [
        {
            "name": kernel.name,
            "file": kernel.file,
            "group": kernel.group,
            "shared": kernel.shared_memory,
            "edited": index in variant.plan.edits,
            "source": _highlighted(variant.sources[kernel.file], lexer),
            "code": asdict(machine_code[kernel.name]) if kernel.name in machine_code else None,
        }
        for index, kernel in enumerate(variant.plan.kernels)
    ]


def _profile(profile: Profile) -> Json:
    return {
        "file": profile.path.name,
        **{key: getattr(profile, key) for key in ("model", "device", "target", "profile")},
        "run_ms": profile.median_ms,
        "kernels_ms": sum(time.ms for time in profile.kernels),
        "parts_ms": sum(time.whole_ms for time in profile.fallback),
    }


# The CSS class of each kind of token that has a colour; the first that fits counts.
CLASSES = (
    (Comment.Preproc, "sp"),
    (Comment, "sc"),
    (Keyword.Type, "st"),
    (Keyword, "sk"),
    (Name.Function, "sf"),
    (Name.Builtin, "st"),
    (Literal.Number, "sn"),
    (Literal.String, "ss"),
)


def _highlighted(text: str, lexer: Lexer) -> str:
    """A source as HTML with a span around each coloured run of tokens.

    Most tokens of a kernel are plain, so that this is a fraction of what Pygments' own formatter
    writes, which marks all of them.
    """
    pieces = []
    for name, run in groupby(lexer.get_tokens(text), lambda token: _class(token[0])):
        piece = escape("".join(value for _, value in run), quote=False)
        pieces.append(f'<span class="{name}">{piece}</span>' if name else piece)
    return "".join(pieces)


def _class(kind: Any) -> str:
    return next((name for parent, name in CLASSES if kind in parent), "")
