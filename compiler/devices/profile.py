"""What the compiler must know of a device, read from a small TOML file."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from ..errors import OptionError
from .rule import Rule

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Profile:
    """The facts about a device that shape the kernels."""

    name: str
    description: str
    kind: str
    """How work-items run: "processor", one after another on a core whose vectors are explicit, or
    "gpu", those of a work-group side by side."""
    slice_width: int
    """Lanes of one slice of channel-sliced storage."""
    slice_loads: bool
    """Whether convolutions load whole slices of their input, rather than one lane after another."""
    alignment: int
    """Bytes an argument's offset in its buffer must be a multiple of."""
    max_group: int
    """Work-items a work-group may have."""
    max_arguments: int
    """Buffers a kernel may have."""
    local_memory: int
    """Bytes of memory shared by a work-group."""
    accumulators: int
    """Slice-wide accumulators a work-item of a convolution keeps in registers."""
    tile_slices: int
    """Slices of output channels a work-item of a convolution computes at most."""
    fused_channels: int
    """Channels up to which a depthwise and a 1x1 convolution behind it are one kernel."""
    fused_outputs: int
    """Output channels up to which they are, however many the depthwise convolution has."""
    winograd_channels: int
    """Input and output channels from which 3x3 convolutions are Winograd's algorithm; 0: never."""
    winograd_squares: int
    """Squares of 4x4 outputs from which they are."""
    transposed_blocks: bool
    """Whether work-items of transposed convolutions compute all pixels between two of the input."""
    transposed_thin: int
    """Output channels up to which a sum holds several of these pixels, one beside the other."""
    work_items: int
    """Work-items that keep the device busy; tiles shrink until there are as many."""
    light_group: int
    """Work-items of a work-group of a kernel that does little per item."""
    heavy_group: int
    """Work-items of a work-group of a kernel that does much per item, convolutions above all."""
    group_columns: int
    """Work-items of a work-group along the first axis at most; the others get what is left."""
    persistent_dispatches: int
    """Dispatches that one launch of a persistent kernel computes at most; 0: each has its own."""
    weight_storage: str = "buffer"
    """What kernels in OpenCL C read weights from: a buffer, or an image of it."""
    tensor_storage: str = "buffer"
    """What they read slices of activations from."""
    image_texels: int = 65536
    """Slices an image of a buffer may have; OpenCL's full profile promises no more."""
    sub_group: int = 0
    """Work-items of a group that exchange values by themselves, in OpenCL C; 0: none do."""
    match: tuple[Rule, ...] = ()
    """Devices it is for; a profile without rules is only taken by name."""


LIMITS = {
    "slice_width": (4, 16),
    "alignment": (4, 65536),
    "max_group": (1, 65536),
    "max_arguments": (4, 1024),
    "local_memory": (0, 1 << 30),
    "accumulators": (1, 64),
    "tile_slices": (1, 8),
    "fused_channels": (0, 4096),
    "fused_outputs": (0, 4096),
    "winograd_channels": (0, 65536),
    "winograd_squares": (1, 1 << 24),
    "transposed_thin": (0, 16),
    "work_items": (1, 1 << 24),
    "light_group": (1, 65536),
    "heavy_group": (1, 65536),
    "group_columns": (1, 65536),
    "persistent_dispatches": (0, 4096),
    "image_texels": (1, 1 << 30),
    "sub_group": (0, 64),
}
"""The least and the greatest value of each number."""
POWERS_OF_TWO = ("slice_width", "alignment", "sub_group")
KINDS = ("processor", "gpu")
STORAGES = ("buffer", "image")
TEXEL_LANES = 4
"""Lanes of a texel, which is a slice."""
_KINDS = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    list: "a list of tables",
    dict: "a table",
}


def parse(text: str, name: str, place: str) -> Profile:
    """The profile in the text of a TOML file (OptionError that names `place` and the key)."""
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise OptionError(f"{place} is no TOML: {error}") from error
    known = {item.name: item for item in fields(Profile) if item.name != "name"}
    _check_keys(values, tuple(known), place)
    missing = [key for key, item in known.items() if item.default is MISSING and key not in values]
    if missing:
        raise OptionError(f"{place} lacks {', '.join(missing)}")
    rules = _typed(values.pop("match", []), list, f"{place}: match")
    _typed(values["description"], str, f"{place}: description")
    for key in ("slice_loads", "transposed_blocks"):
        _typed(values[key], bool, f"{place}: {key}")
    if _typed(values["kind"], str, f"{place}: kind") not in KINDS:
        raise OptionError(
            f"{place}: kind is {values['kind']!r}, it must be one of {', '.join(KINDS)}"
        )
    for key, limits in LIMITS.items():
        if key in values:
            _check_number(_typed(values[key], int, f"{place}: {key}"), key, limits, place)
    _check_storages(values, place)
    for key in ("light_group", "heavy_group"):
        if values[key] > values["max_group"]:
            raise OptionError(f"{place}: {key} is {values[key]}, above max_group")
    return Profile(name, match=tuple(_rule(rule, place) for rule in rules), **values)


def _check_storages(values: Mapping[str, Any], place: str) -> None:
    known = ", ".join(STORAGES)
    for key in ("weight_storage", "tensor_storage"):
        storage = _typed(values.get(key, "buffer"), str, f"{place}: {key}")
        if storage not in STORAGES:
            raise OptionError(f"{place}: {key} is {storage!r}, it must be one of {known}")
        if storage == "image" and values["slice_width"] != TEXEL_LANES:
            raise OptionError(f"{place}: {key} is 'image', so slice_width must be {TEXEL_LANES}")
        if storage == "image" and values["persistent_dispatches"]:
            raise OptionError(f"{place}: {key} is 'image', so persistent_dispatches must be 0")
    if values.get("sub_group") and values["persistent_dispatches"]:
        raise OptionError(f"{place}: sub_group is given, so persistent_dispatches must be 0")


def _rule(values: Any, place: str) -> Rule:
    where = f"{place}: match"
    table: dict[str, Any] = _typed(values, dict, where)
    _check_keys(table, tuple(item.name for item in fields(Rule)), where)
    for key, value in table.items():
        _typed(value, int if key == "lanes" else str, f"{where}: {key}")
    return Rule(**table)


def _check_keys(values: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
    unknown = sorted(values.keys() - set(known))
    if unknown:
        raise OptionError(
            f"{place} has no use for {', '.join(unknown)}; it may have {', '.join(known)}"
        )


def _typed(value: Any, kind: type, place: str) -> Any:
    if type(value) is not kind:
        raise OptionError(f"{place} is {value!r}, it must be {_KINDS[kind]}")
    return value


def _check_number(value: int, key: str, limits: tuple[int, int], place: str) -> None:
    least, greatest = limits
    if not least <= value <= greatest:
        raise OptionError(f"{place}: {key} is {value}, it must be {least} to {greatest}")
    if key in POWERS_OF_TWO and value & (value - 1):
        raise OptionError(f"{place}: {key} is {value}, it must be a power of two")
