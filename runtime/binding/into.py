"""A single run with results in objects of the caller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..exchange import as_declared
from ..execution import Execution
from ..launch.callers_memory import callers_memory
from .bound import BoundRun
from .host import host_array
from .submitted import Bound
from .values import fitted

Array = NDArray[Any]


def run_into(
    execution: Execution, arrays: Sequence[Array], outputs: Mapping[str, Bound], check: bool
) -> dict[str, Array | Bound]:
    """The outputs for inputs as `arrays_for` returns them: the objects of the caller by name, and
    new arrays for the others. Errors are those of `Session.run`.
    """
    infos = execution.plan.outputs
    if isinstance(outputs, Mapping) and any(
        callers_memory(value) is not None for value in outputs.values()
    ):
        if check:
            raise InputError("indices are checked with outputs on the host only; bind arrays")
        return _run_bound(execution, arrays, outputs)
    targets = fitted("output", infos, outputs, lambda i, value: host_array(infos[i], value, True))
    with execution:
        results = execution.run_checked(arrays) if check else execution.run(arrays, targets)
    returned: dict[str, Array | Bound] = {}
    for index, (info, result) in enumerate(zip(infos, results, strict=True)):
        if index in targets and result is not targets[index]:
            np.copyto(targets[index], result, casting="unsafe")
        returned[info.name] = outputs[info.name] if index in targets else as_declared(info, result)
    return returned


def _run_bound(
    execution: Execution, arrays: Sequence[Array], outputs: Mapping[str, Bound]
) -> dict[str, Array | Bound]:
    plan = execution.plan
    inputs = {info.name: array for info, array in zip(plan.inputs, arrays, strict=True)}
    others = [info for info in plan.outputs if info.name not in outputs]
    made = {info.name: np.empty(info.shape, info.dtype) for info in others}
    targets: dict[str, Array | Bound] = {**made, **outputs}
    with BoundRun(execution, inputs, targets) as bound:
        results = bound.run()
    return {info.name: results[info.name] for info in plan.outputs}
