"""One compiled model of the plans for several choices, which share weights and state."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from ...runtime.plan.file import to_bytes
from ...runtime.plan.records import Plan, Specialization
from ...runtime.plan.seal import sealed
from ..errors import OptionError
from ..frontend.model_file import Identity
from ..options import Options
from .compiled_model import CompiledModel
from .facts import stated
from .weights import Weights


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
