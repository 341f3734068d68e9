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
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..devices import Profile
from ..errors import OptionError
from ..ir import Op, Tensor
from ..kernels.group import Group
from ..ops import Kernel


@dataclass(frozen=True)
class Sizes:
    """What can be tuned about a kernel."""

    tile: tuple[int, int] | None
    """Pixels and slices of a work-item; None where the kernel has no tile."""
    groups: tuple[Group, ...]
    """The work-group of each of its launches."""


Sizing = Callable[[Op, Kernel], Sizes | None]
"""The sizes an operator's kernel is to have; None where the profile decides."""


def unsized(op: Op, kernel: Kernel) -> None:
    """The profile decides everything."""


@dataclass(frozen=True)
class Timing:
    """Sizes that were measured, and what was gained, in seconds."""

    sizes: Sizes
    seconds: float
    before: float
    """With the sizes the profile leads to."""


@dataclass
class Table:
    """What was measured on a device."""

    device: str
    kernels: dict[str, Timing] = field(default_factory=dict)

    def sizing(self, profile: Profile, dialect: str, used: dict[str, Sizes]) -> Sizing:
        """Looks operators up and notes in `used` what it has found."""

        def look_up(op: Op, kernel: Kernel) -> Sizes | None:
            key = signature(op, kernel, profile, dialect)
            if key not in self.kernels:
                return None
            used[key] = self.kernels[key].sizes
            return used[key]

        return look_up


def signature(op: Op, kernel: Kernel, profile: Profile, dialect: str) -> str:
    """What a kernel computes, without any names: equal for what equal sizes are good for."""
    half = ", half precision" if profile.half else ""
    return f"{kernel.name} {_operator(op)}; {dialect}, slices of {profile.slice_width}{half}"


def _operator(op: Op) -> str:
    reads = ", ".join(map(_tensor, op.inputs))
    writes = ", ".join(map(_tensor, op.outputs))
    attrs = "".join(
        f" {name}={_operator(value) if isinstance(value, Op) else value}"
        for name, value in sorted(op.attrs.items())
    )
    post = "".join(f" | {step.name}{step.operands}" for step in op.post)
    operands = f" on {', '.join(map(_tensor, op.post_inputs))}" if op.post_inputs else ""
    return f"{op.name}({reads}) -> {writes}{attrs}{post}{operands}"


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
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise OptionError(f"cannot read the tuning table {path}: {error.strerror}") from error
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise OptionError(f"{path} is no tuning table: {error}") from error
    try:
        kernels = {key: _timing(entry) for key, entry in content["kernels"].items()}
        return Table(str(content["device"]), kernels)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise OptionError(f"{path} is no tuning table: {error}; tune again into a new file") from (
            error
        )


def _timing(entry: Mapping[str, Any]) -> Timing:
    tile = entry["tile"]
    groups = tuple(_sizes(group, 3) for group in entry["groups"])
    sizes = Sizes(None if tile is None else _sizes(tile, 2), groups)  # type: ignore[arg-type]
    return Timing(sizes, float(entry["microseconds"]) / 1e6, float(entry["before"]) / 1e6)


def _sizes(value: Any, count: int) -> tuple[int, ...]:
    if not isinstance(value, list) or len(value) != count:
        raise ValueError(f"{value!r} is no list of {count} sizes")
    if not all(type(size) is int and 0 < size <= 65536 for size in value):
        raise ValueError(f"{value!r} holds what is no size")
    return tuple(value)


def write_table(table: Table, path: Path) -> None:
    """Write a table in one step, so that a search can be ended at any time (OptionError)."""
    kernels = {
        key: {
            "tile": timing.sizes.tile,
            "groups": timing.sizes.groups,
            "microseconds": round(timing.seconds * 1e6, 3),
            "before": round(timing.before * 1e6, 3),
        }
        for key, timing in sorted(table.kernels.items())
    }
    # A line for each kernel, so that tables can be read and compared.
    lines = [f"  {json.dumps(key)}: {json.dumps(entry)}" for key, entry in kernels.items()]
    start = f'{{\n "device": {json.dumps(table.device)},\n "kernels": {{\n'
    text = start + ",\n".join(lines) + "\n }\n}"
    temporary = None
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(".tmp", f".{path.name}.", path.parent)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)
        raise OptionError(f"cannot write the tuning table {path}: {error.strerror}") from error
