"""Which value the caller gives for which input or output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ..errors import InputError
from ..plan.records import TensorInfo

_Fitted = TypeVar("_Fitted")


def fitted(
    kind: str,
    infos: Sequence[TensorInfo],
    given: Mapping[str, Any],
    fit: Callable[[int, Any], _Fitted],
) -> dict[int, _Fitted]:
    """What `fit` makes of each value, given a tensor's index and the value; by that index.

    `kind` is input or output. `fit` raises InputError for a value that does not fit. The InputError
    raised here names all of them, and all names that the model does not have.
    """
    if not isinstance(given, Mapping):
        raise InputError(
            f"the {kind}s are given as {type(given).__name__}; give a mapping of their names to "
            "what is bound to them"
        )
    indices = {info.name: index for index, info in enumerate(infos)}
    found, problems = {}, []
    for name, value in given.items():
        if name not in indices:
            names = ", ".join(indices) or "none"
            problems.append(f"{name} is not an {kind} of the model, which has {names}")
            continue
        try:
            found[indices[name]] = fit(indices[name], value)
        except InputError as error:
            problems.append(f"{kind} {name}: {error}")
    if problems:
        lines = "".join(f"\n  {line}" for line in problems)
        raise InputError(f"the {kind}s cannot be bound:{lines}")
    return found
