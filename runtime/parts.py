"""The parts of a plan that run on the host, ready to run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from .cache.variant import Variant

if TYPE_CHECKING:
    from .custom_op import CustomOp, LoadedFunction
    from .litert.part import LoadedPart

    HostRun: TypeAlias = LoadedPart | LoadedFunction
    """A part on LiteRT, or one in Python."""


def load_parts(variant: Variant, functions: Mapping[str, CustomOp]) -> list[HostRun]:
    """The parts of a plan, in the order in which they run.

    `functions` are the application's, by the name of the operator that each computes. DeviceError
    if LiteRT is needed but not installed, PlanError if it rejects a part or a function is missing.
    """
    plan = variant.plan
    if not plan.parts:
        return []
    # Few models have parts.
    from .custom_op import LoadedFunction
    from .litert.part import LoadedPart, litert_of

    if any(not record.function for record in plan.parts):
        on_litert = partial(LoadedPart, litert=litert_of(plan))
    return [
        LoadedFunction(plan, record, variant.parts[record.file], functions)
        if record.function
        else on_litert(plan, record, variant.parts[record.file])
        for record in plan.parts
    ]
