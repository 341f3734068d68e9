"""A compiled model of what was emitted for each choice of input shapes, on the same weights."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from ...runtime.plan.file import to_bytes
from ...runtime.plan.records import Plan, Specialization
from ...runtime.plan.seal import sealed
from ..errors import OptionError
from ..options import Options
from .compiled_model import CompiledModel
from .facts import stated
from .weights import Weights


def complete(emitted: Sequence[CompiledModel], weights: Weights, options: Options) -> CompiledModel:
    """The model for the first choice of input shapes, with its specializations for the others.

    `weights` hold the constants of all of them. OptionError if two choices lead to the same shapes.
    """
    content = memoryview(weights.data).toreadonly()
    digest = hashlib.sha256(content).digest()
    found = []
    for model, chosen in zip(emitted, options.for_each_choice(), strict=True):
        plan = replace(
            model.plan,
            options=_recorded(model.plan, chosen),
            weights_size=content.nbytes,
            weights_sha256=digest,
        )
        found.append(replace(model, plan=sealed(stated(plan)), weights=content))
    first, *others = found
    if not others:
        return first
    _check_distinct([model.plan for model in found])
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
    return Specialization(f"shapes/{number}", digest, plan.inputs, plan.outputs)


def _check_distinct(plans: Sequence[Plan]) -> None:
    shapes = [tuple(info.shape for info in plan.inputs) for plan in plans]
    for number, inputs in enumerate(shapes):
        if inputs in shapes[:number]:
            listed = ", ".join(f"{info.name} {list(info.shape)}" for info in plans[number].inputs)
            raise OptionError(f"two choices of input_shapes lead to the same inputs: {listed}")
