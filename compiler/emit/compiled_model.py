"""The result of a compilation of each choice, before it is written into a cache."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ...runtime.plan.file import to_bytes
from ...runtime.plan.records import Plan, Specialization
from ...runtime.plan.seal import sealed
from ..errors import Finding, OptionError
from ..events import Event
from ..frontend.model_file import Identity
from ..options import Options
from .facts import stated
from .weights import Weights

MAX_NAMED = 10  # Most operators that a warning lists.


@dataclass(frozen=True)
class CompiledModel:
    """A compiled model in memory: everything that goes into its folder of the cache."""

    plan: Plan
    sources: Mapping[str, str]
    weights: memoryview
    # Files made from the sources, such as SPIR-V, and the models of parts on LiteRT, by file.
    companions: Mapping[str, bytes]
    events: tuple[Event, ...]  # Rewrites and views applied and declined.
    fallback: tuple[Finding, ...]  # Operators that run on LiteRT instead of the device.
    operators: int  # Number of operators in the model file.
    tuned: int  # Number of distinct kernels with sizes from the tuning table.
    # The model for its other choices of input shapes, on the same weights.
    specializations: tuple[CompiledModel, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled for other processes, which memory views cannot be."""
        return {**vars(self), "weights": bytes(self.weights)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, weights=memoryview(state["weights"]))

    @property
    def report(self) -> dict[str, Any]:
        """The summary that `tflgpu compile --json` prints."""
        others = [each.report for each in self.specializations]
        return {
            "inputs": {info.name: list(info.shape) for info in self.plan.inputs},
            "operators": self.operators,
            "kernels": len(self.plan.dispatches),
            "launches": self.plan.launches,
            "flops": sum(dispatch.flops for dispatch in self.plan.dispatches),
            "bytes_moved": sum(
                argument.size
                for dispatch in self.plan.dispatches
                for argument in dispatch.arguments
            ),
            "tuned": self.tuned,
            "memory": asdict(self.plan.memory),
            "fallback": [
                {**item.as_dict(), "part": part.file}
                for part in self.plan.parts
                for item in self.fallback
                if item.index in part.operators
            ],
            "passes": [event.as_dict() for event in self.events],
            **({"specializations": others} if others else {}),
        }


def fallback_texts(report: Mapping[str, Any]) -> list[str]:
    """The texts of FallbackWarnings of a report, which may differ by the input shapes."""
    found = [each["fallback"] for each in (report, *report.get("specializations", ()))]
    return list(dict.fromkeys(fallback_text(entries) for entries in found if entries))


def fallback_text(entries: Sequence[Mapping[str, Any]]) -> str:
    """The text of a FallbackWarning, from the entries under "fallback" of a report."""
    lines = [
        f"\n  operator {item['index']} {item['operator']} ({item['part']}): {item['reason']}"
        for item in entries
    ]
    # If there is just one more, its line takes no more room than a line that says so.
    if len(lines) > MAX_NAMED + 1:
        lines[MAX_NAMED:] = [
            f"\n  and {len(lines) - MAX_NAMED} more; `tflgpu explain` lists all of them"
        ]
    count = f"{len(entries)} operator{'s run' if len(entries) > 1 else ' runs'}"
    return f"{count} on LiteRT, not on the device:{''.join(lines)}"


def complete(
    emitted: Sequence[CompiledModel],
    weights: Weights,
    identity: Identity,
    choices: Sequence[Options],
    options: Options,
) -> CompiledModel:
    """The model for the first of several choices, with its specializations for the others.

    `weights` hold the constants of all of them; `identity` is that of the model file. OptionError
    if two choices of a signature lead to the same shapes.
    """
    content = memoryview(weights.data).toreadonly()
    digest = hashlib.sha256(content).digest()
    plans = []
    for model, chosen in zip(emitted, choices, strict=True):
        plan = replace(
            model.plan,
            model=identity.name,
            fingerprint=identity.fingerprint,
            signature=chosen.signature_key,
            options=_recorded(model.plan, chosen),
            weights_size=content.nbytes,
            weights_sha256=digest,
        )
        plans.append(stated(plan))
    if len(plans) > 1:
        _check_distinct(plans)
        plans = _with_shared_state(plans)
    first, *others = (
        replace(model, plan=sealed(plan), weights=content)
        for model, plan in zip(emitted, plans, strict=True)
    )
    if not others:
        return first
    plan = replace(
        first.plan,
        options=_recorded(first.plan, options),
        specializations=tuple(_record(n, model.plan) for n, model in enumerate(others, 1)),
    )
    return replace(first, plan=plan, specializations=tuple(others))


def _recorded(plan: Plan, options: Options) -> str:
    return replace(options, device=plan.profile).as_json()


def _record(number: int, plan: Plan) -> Specialization:
    digest = hashlib.sha256(to_bytes(plan)).digest()
    folder = f"choices/{number}"
    return Specialization(folder, digest, plan.inputs, plan.outputs, plan.signature)


def _with_shared_state(plans: Sequence[Plan]) -> list[Plan]:
    """The plans with buffers for variables of the same name that all can use (OptionError)."""
    sizes: dict[str, int] = {}
    reaches: dict[str, int] = {}
    contents: dict[str, int] = {}
    for variable in (variable for plan in plans for variable in plan.variables):
        name, size, content = variable.name, variable.size, variable.content
        if sizes.setdefault(name, size) != size:
            raise OptionError(
                f"{name} keeps {sizes[name]} bytes in one signature or choice of input shapes and "
                f"{size} in another, so that they cannot share it; compile each by itself"
            )
        if content is not None and contents.setdefault(name, content) != content:
            raise OptionError(
                f"{name} starts with other values in one signature than in another, so that they "
                f"cannot share it; compile each by itself"
            )
        reaches[name] = max(reaches.get(name, 0), variable.reach)

    def shared(plan: Plan) -> Plan:
        variables = (
            replace(item, reach=reaches[item.name], content=contents.get(item.name))
            for item in plan.variables
        )
        return stated(replace(plan, variables=tuple(variables)))

    return list(map(shared, plans))


def _check_distinct(plans: Sequence[Plan]) -> None:
    chosen = [(plan.signature, tuple(info.shape for info in plan.inputs)) for plan in plans]
    for number, choice in enumerate(chosen):
        if choice in chosen[:number]:
            listed = ", ".join(f"{info.name} {list(info.shape)}" for info in plans[number].inputs)
            raise OptionError(f"two choices of input_shapes lead to the same inputs: {listed}")
