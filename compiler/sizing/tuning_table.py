"""Tuning tables: the fastest tile and work-groups of each kernel on a device.

A table is a JSON file that people can read, copy and share. Its keys describe what a kernel
computes and in which shapes, but not for which model, so that models share entries:

    {"device": "...", "kernels": {"conv_1x1 CONV_2D(float32[1,7,7,64], ...": {
        "tile": [7, 2], "groups": [[1, 1, 1]], "microseconds": 31.5, "before": 40.2}}}
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from pathlib import Path
from typing import Annotated, Any

from ...runtime.cache.private_files import replace_file
from ...runtime.typed_json import Form, typed
from ..errors import OptionError
from ..ir import Op, Tensor
from ..ops import Implementation
from ..side_file import read_text
from ..target import Target
from .sizes import Sizes, Sizing


@dataclass(frozen=True)
class Timing:
    """The fastest sizes of a kernel, and its times in seconds."""

    sizes: Sizes
    seconds: float
    before: float  # Time with the profile's sizes; infinite if the device rejects them.


@dataclass
class Table:
    device: str
    kernels: dict[str, Timing] = field(default_factory=dict)


class TableSizing(Sizing):
    """Sizes from a table, for the kernels in it."""

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
    """What a kernel computes, without tensor names; kernels with equal signatures share sizes."""
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
    stored = "" if tensor.whole is None else f" in {tensor.whole.called}"
    stored += " in single precision" if tensor.kept else ""
    stored += " in rows of halves" if tensor.halved else ""
    return f"{constant}{tensor.dtype}[{','.join(map(str, tensor.shape))}]{stored}"


def digest(used: Mapping[str, Sizes]) -> str:
    """A digest of the sizes that a model's kernels took from a table; "" if there are none."""
    text = json.dumps([(key, sizes.tile, sizes.groups) for key, sizes in sorted(used.items())])
    return hashlib.sha256(text.encode()).hexdigest()[:12] if used else ""


# -- files ------------------------------------------------------------------------------------

_Size = Annotated[int, Form("size from 1 to 65536", lambda size: 0 < size <= 65536)]
_Time = Annotated[float, Form("time in microseconds", lambda time: 0 <= time < 1e12)]


@dataclass(frozen=True)
class _Entry:
    """What a file says of a kernel; null stands for an infinite time, which JSON lacks."""

    tile: tuple[_Size, _Size] | None
    groups: tuple[tuple[_Size, _Size, _Size], ...]
    microseconds: _Time | None
    before: _Time | None


@dataclass(frozen=True)
class _File:
    device: str
    kernels: Mapping[str, Any]


def read_table(path: Path) -> Table:
    """Read a table from its file (OptionError)."""
    text = read_text(path, "the tuning table", OptionError)
    try:
        found = typed(_File, json.loads(text))
        return Table(found.device, {key: _timing(key, each) for key, each in found.kernels.items()})
    except (ValueError, RecursionError) as error:
        raise OptionError(
            f"{path} is not a tuning table: {error}; tune again into a new file"
        ) from error


def _timing(key: str, entry: object) -> Timing:
    try:
        found = typed(_Entry, entry)
    except ValueError as error:
        raise ValueError(f"kernel {key!r}: {error}") from error
    each = (found.microseconds, found.before)
    return Timing(Sizes(found.tile, found.groups), *(inf if t is None else t / 1e6 for t in each))


def write_table(table: Table, path: Path) -> None:
    """Write a table atomically, so that a search can be interrupted at any time (OptionError)."""
    kernels = {
        key: {
            "tile": timing.sizes.tile,
            "groups": timing.sizes.groups,
            "microseconds": _microseconds(timing.seconds),
            "before": _microseconds(timing.before),
        }
        for key, timing in sorted(table.kernels.items())
    }
    # One line per kernel, so that tables can be read and compared.
    lines = [f"  {json.dumps(key)}: {json.dumps(entry)}" for key, entry in kernels.items()]
    start = f'{{\n "device": {json.dumps(table.device)},\n "kernels": {{\n'
    text = start + ",\n".join(lines) + "\n }\n}"
    # Replace the target of a symbolic link, not the link itself.
    path = Path(os.path.realpath(path))
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, f"{text}\n".encode())
    except OSError as error:
        raise OptionError(f"cannot write the tuning table {path}: {error.strerror}") from error


def _microseconds(seconds: float) -> float | None:
    return round(seconds * 1e6, 3) if isfinite(seconds) else None
