"""Tuning tables: the tile and work-groups that were fastest on a device, kernel by kernel.

A table is a JSON file a person can read, copy and hand on. Its keys say what a kernel computes in
which shapes, not for which model, so that models share what they have in common:

    {"device": "...", "kernels": {"conv_1x1 CONV_2D(float32[1,7,7,64], ...": {
        "tile": [7, 2], "groups": [[1, 1, 1]], "microseconds": 31.5, "before": 40.2}}}
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from pathlib import Path
from typing import Any

from ...runtime.store.private_files import replace_file
from ..errors import OptionError
from ..ir import Op, Tensor
from ..ops import Implementation
from ..target import Target
from .sizes import Sizes, Sizing

LARGEST_FILE = 1 << 26
"""Bytes of a table at most, far more than the kernels of a thousand models need."""


@dataclass(frozen=True)
class Timing:
    """Sizes that were measured, and what was gained, in seconds."""

    sizes: Sizes
    seconds: float
    before: float
    """With the sizes the profile leads to; infinite where the device refuses those."""


@dataclass
class Table:
    """What was measured on a device."""

    device: str
    kernels: dict[str, Timing] = field(default_factory=dict)


class TableSizing(Sizing):
    """Sizes from a table, for what it knows."""

    def __init__(self, table: Table, target: Target) -> None:
        super().__init__()
        self._table, self._target = table, target

    def __call__(self, op: Op, implementation: Implementation) -> Sizes | None:
        key = signature(op, implementation, self._target)
        if key not in self._table.kernels:
            return None
        self.used[key] = self._table.kernels[key].sizes
        return self.used[key]


def signature(op: Op, implementation: Implementation, target: Target) -> str:
    """What a kernel computes, without any names: equal for what equal sizes are good for."""
    half = ", half precision" if target.half else ""
    language = f"{target.language}, slices of {target.lanes}{half}"
    return f"{implementation.name} {' | '.join(map(_operator, op.ops))}; {language}"


def _operator(op: Op) -> str:
    reads = ", ".join(map(_tensor, op.inputs))
    writes = ", ".join(map(_tensor, op.outputs))
    attrs = "".join(f" {name}={value}" for name, value in sorted(op.attrs.items()))
    return f"{op.name}({reads}) -> {writes}{attrs}"


def _tensor(tensor: Tensor | None) -> str:
    if tensor is None:
        return "none"
    constant = "constant " if tensor.constant else ""
    return f"{constant}{tensor.dtype}[{','.join(map(str, tensor.shape))}]"


def digest(used: Mapping[str, Sizes]) -> str:
    """A name for the sizes a model's kernels got from a table; empty if there were none."""
    text = json.dumps([(key, sizes.tile, sizes.groups) for key, sizes in sorted(used.items())])
    return hashlib.sha256(text.encode()).hexdigest()[:12] if used else ""


# -- files ------------------------------------------------------------------------------------


def read_table(path: Path) -> Table:
    """A table from its file (OptionError that names what is wrong with it)."""
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise OptionError(f"cannot read the tuning table {path}: {error.strerror}") from error
    try:
        if len(text) > LARGEST_FILE:
            raise ValueError(f"it has more than {LARGEST_FILE >> 20} MiB")
        return _table(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise OptionError(
            f"{path} is no tuning table: {error}; tune again into a new file"
        ) from error


def _table(content: Any) -> Table:
    device, kernels = _fields(content, "the file", "device", "kernels")
    if not isinstance(device, str) or not isinstance(kernels, dict):
        raise ValueError("the device must be a text, and the kernels must have names")
    return Table(device, {key: _timing(entry, key) for key, entry in kernels.items()})


def _fields(value: Any, name: str, *wanted: str) -> list[Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{name} must be an object with {', '.join(wanted)}")
    missing = [field for field in wanted if field not in value]
    if missing:
        raise ValueError(f"{name} lacks {', '.join(missing)}")
    return [value[field] for field in wanted]


def _timing(entry: Any, key: str) -> Timing:
    fields = ("tile", "groups", "microseconds", "before")
    tile, groups, *times = _fields(entry, f"kernel {key!r}", *fields)
    if not isinstance(groups, list):
        raise ValueError(f"kernel {key!r}: the groups {groups!r} are no list")
    sizes = Sizes(
        None if tile is None else _sizes(tile, 2, key),  # type: ignore[arg-type]
        tuple(_sizes(group, 3, key) for group in groups),  # type: ignore[misc]
    )
    return Timing(sizes, *(_seconds(time, key) for time in times))


def _sizes(value: Any, count: int, key: str) -> tuple[int, ...]:
    if not isinstance(value, list) or len(value) != count:
        raise ValueError(f"kernel {key!r}: {value!r} is no list of {count} sizes")
    if not all(type(size) is int and 0 < size <= 65536 for size in value):
        raise ValueError(f"kernel {key!r}: {value!r} holds what is no size")
    return tuple(value)


def _seconds(value: Any, key: str) -> float:
    """JSON has no infinity, so that is null."""
    if value is None:
        return inf
    if type(value) not in (int, float) or not 0 <= value < 1e12:
        raise ValueError(f"kernel {key!r}: {value!r} is no time in microseconds")
    return float(value) / 1e6


def write_table(table: Table, path: Path) -> None:
    """Write a table in one step, so that a search can be ended at any time (OptionError)."""
    kernels = {
        key: {
            "tile": timing.sizes.tile,
            "groups": timing.sizes.groups,
            "microseconds": _microseconds(timing.seconds),
            "before": _microseconds(timing.before),
        }
        for key, timing in sorted(table.kernels.items())
    }
    # A line for each kernel, so that tables can be read and compared.
    lines = [f"  {json.dumps(key)}: {json.dumps(entry)}" for key, entry in kernels.items()]
    start = f'{{\n "device": {json.dumps(table.device)},\n "kernels": {{\n'
    text = start + ",\n".join(lines) + "\n }\n}"
    # What a link leads to is written, and not the link.
    path = Path(os.path.realpath(path))
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, f"{text}\n".encode())
    except OSError as error:
        raise OptionError(f"cannot write the tuning table {path}: {error.strerror}") from error


def _microseconds(seconds: float) -> float | None:
    return round(seconds * 1e6, 3) if isfinite(seconds) else None
