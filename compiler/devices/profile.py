"""The profile of a device, read from a TOML file."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any

from ..errors import OptionError
from ..language import LANGUAGES
from ..options import TARGETS
from .rule import Rule

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Profile:
    """The facts about a device that shape its kernels."""

    name: str
    description: str
    kind: str
    """"processor": the work-items of a group run one after another on a core with explicit
    vectors; "gpu": they run side by side."""
    slice_width: int
    """Lanes of a slice."""
    slice_loads: bool
    """Whether convolutions load whole slices of their input instead of single lanes."""
    alignment: int
    """Bytes that an argument's offset in its buffer must be a multiple of."""
    max_group: int
    """Most work-items of a work-group."""
    max_arguments: int
    """Most buffers of a kernel."""
    local_memory: int
    """Bytes of local memory of a work-group."""
    accumulators: int
    """Slice-wide accumulators that a work-item of a convolution keeps in registers."""
    tile_slices: int
    """Most slices of output channels that a work-item of a convolution computes."""
    fused_channels: int
    """Most channels for fusing a depthwise convolution with the 1x1 convolution after it; on
    processors, of the latter's output."""
    winograd_channels: int
    """Fewest input and output channels for Winograd's algorithm; 0 disables it."""
    winograd_squares: int
    """Fewest squares of 4x4 outputs for Winograd's algorithm."""
    transposed_blocks: bool
    """Whether a work-item of a transposed convolution computes all phases of a pixel."""
    transposed_thin: int
    """Most output channels for transposed convolutions with several phases in one vector."""
    work_items: int
    """Work-items that keep the device busy; tiles shrink until there are as many."""
    light_group: int
    """Work-items of a work-group if each does little work."""
    heavy_group: int
    """Work-items of a work-group if each does much work, as in convolutions."""
    warp: int
    """Work-items that run in lockstep: a warp, wave or sub-group; 1 on processors."""
    load_cost: int
    """Multiply-adds of slices that take as long as the load of a slice, on GPUs."""
    persistent_kernels: int
    """Kernels above which a persistent kernel is divided where that pays off; 0 disables them."""
    byte_storage: bool
    """Whether integers of 8 and 16 bits are stored as such rather than as floats."""
    byte_products: tuple[str, ...] = ()
    """The kernel languages in which bytes are multiplied four at a time; needs `byte_storage`."""
    weight_storage: str = "buffer"
    """What OpenCL C kernels read weights from: "buffer" or "image"."""
    tensor_storage: str = "buffer"
    """What OpenCL C kernels read slices of activations from: "buffer" or "image"."""
    shared_sums: bool = False
    """Whether work-items share the sums of layers of few pixels, through local memory."""
    registers: int = 0
    """Registers of a work-item, of 32 bits, with which enough of them are in flight, on GPUs; tiles
    that need more are rejected. 0 for any number."""
    loads_ahead: bool = False
    """Whether the compiler loads all pixels of a tile before it multiplies the first, so that each
    holds registers, unless they may lie outside the image."""
    paired_halves: bool = True
    """Whether a register holds two halves, so that tiles in half precision may be twice as
    large."""
    joined_stores: bool = False
    """Whether kernels for Vulkan store four neighbouring pixels of floats at once, and up to eight
    in half precision."""
    max_group_depth: int = 64
    """Most work-items of a work-group along its third axis; 64 is the minimum that OpenGL ES and
    Vulkan guarantee. Along the others it is `max_group`."""
    image_texels: int = 65536
    """Most texels of an image buffer; 65536 is the minimum of OpenCL's full profile."""
    max_binding: int = 1 << 40
    """Most bytes of a buffer that are bound to a kernel."""
    loop_iterations: int = 1 << 30
    """Iterations of all loops of a work-item, after which the driver ends them without an error."""
    sub_groups: tuple[str, ...] = ()
    """The kernel languages in which the work-items of a sub-group add up what they have."""
    half_arithmetic: tuple[str, ...] = ()
    """The kernel languages in which arithmetic in half precision is faster than in single."""
    targets: tuple[str, ...] = TARGETS
    """The targets that drivers of such devices take."""
    match: tuple[Rule, ...] = ()
    """The devices it is for; a profile without rules can only be chosen by name."""


LIMITS = {
    "slice_width": (4, 16),
    "alignment": (4, 65536),
    "max_group": (1, 65536),
    "max_arguments": (4, 1024),
    "local_memory": (0, 1 << 30),
    "accumulators": (1, 64),
    "tile_slices": (1, 8),
    "fused_channels": (0, 4096),
    "winograd_channels": (0, 65536),
    "winograd_squares": (1, 1 << 24),
    "transposed_thin": (0, 16),
    "work_items": (1, 1 << 24),
    "light_group": (1, 65536),
    "heavy_group": (1, 65536),
    "warp": (1, 128),
    "load_cost": (1, 64),
    "registers": (0, 1024),
    "max_group_depth": (1, 65536),
    "persistent_kernels": (0, 4096),
    "image_texels": (1, 1 << 30),
    "max_binding": (1 << 24, 1 << 40),
    "loop_iterations": (1, 1 << 30),
}
"""The smallest and the largest value of each number."""
POWERS_OF_TWO = ("slice_width", "alignment", "warp")
KINDS = ("processor", "gpu")
STORAGES = ("buffer", "image")
BY_LANGUAGE = {
    "half_arithmetic": tuple(LANGUAGES),
    "byte_products": ("opencl", "vulkan", "wgsl"),
    "sub_groups": ("opencl", "vulkan"),
}
"""The keys that list kernel languages, and the languages that have what it takes."""
TEXEL_LANES = 4
"""Lanes of a texel, which holds one slice."""
_KINDS = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    list: "a list of tables",
    dict: "a table",
}


def parse(text: str, name: str, place: str) -> Profile:
    """The profile in the text of a TOML file; OptionErrors name `place`, the file, and the key."""
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise OptionError(f"{place} is not a TOML file: {error}") from error
    known = {item.name: item for item in fields(Profile) if item.name != "name"}
    _check_keys(values, tuple(known), place)
    missing = [key for key, item in known.items() if item.default is MISSING and key not in values]
    if missing:
        raise OptionError(f"{place} lacks the keys {', '.join(missing)}")
    rules = _typed(values.pop("match", []), list, f"{place}: match")
    targets = _chosen(values.pop("targets", list(TARGETS)), TARGETS, f"{place}: targets")
    if not targets:
        raise OptionError(f"{place}: targets is empty, but must have one of {', '.join(TARGETS)}")
    for key, languages in BY_LANGUAGE.items():
        listed = values.get(key, [])
        values[key] = _chosen(listed, languages, f"{place}: {key}", " kernel languages")
    _typed(values["description"], str, f"{place}: description")
    optional = ("shared_sums", "loads_ahead", "paired_halves", "joined_stores")
    for key in ("slice_loads", "transposed_blocks", "byte_storage", *optional):
        _typed(values.get(key, False), bool, f"{place}: {key}")
    if _typed(values["kind"], str, f"{place}: kind") not in KINDS:
        raise OptionError(
            f"{place}: kind is {values['kind']!r}, but must be one of {', '.join(KINDS)}"
        )
    for key, limits in LIMITS.items():
        if key in values:
            _check_number(_typed(values[key], int, f"{place}: {key}"), key, limits, place)
    _check_storages(values, place)
    for key in ("light_group", "heavy_group"):
        if values[key] > values["max_group"]:
            raise OptionError(
                f"{place}: {key} is {values[key]}, but must be at most max_group, "
                f"{values['max_group']}"
            )
    _check_products(values["byte_products"], targets, values, place)
    matched = tuple(_rule(rule, place) for rule in rules)
    return Profile(
        name,
        targets=targets,
        match=matched,
        **values,
    )


def _check_products(
    products: Sequence[str], targets: Sequence[str], values: Mapping[str, Any], place: str
) -> None:
    if "opencl" in products and "image" in _storages(values):
        raise OptionError(
            f"{place}: byte_products has 'opencl', so weights and tensors must be buffers"
        )
    if "vulkan" in products and "metal" in targets:
        raise OptionError(
            f"{place}: byte_products has 'vulkan', so targets must not have 'metal', whose kernels "
            f"are translated from Vulkan's"
        )


def _storages(values: Mapping[str, Any]) -> list[Any]:
    return [values.get(key, "buffer") for key in ("weight_storage", "tensor_storage")]


def _check_storages(values: Mapping[str, Any], place: str) -> None:
    known = ", ".join(STORAGES)
    for key in ("weight_storage", "tensor_storage"):
        storage = _typed(values.get(key, "buffer"), str, f"{place}: {key}")
        if storage not in STORAGES:
            raise OptionError(f"{place}: {key} is {storage!r}, but must be one of {known}")
        if storage == "image" and values["slice_width"] != TEXEL_LANES:
            raise OptionError(f"{place}: {key} is 'image', so slice_width must be {TEXEL_LANES}")
        if storage == "image" and values["persistent_kernels"]:
            raise OptionError(f"{place}: {key} is 'image', so persistent_kernels must be 0")


def _chosen(values: Any, known: Sequence[str], place: str, kind: str = "") -> tuple[str, ...]:
    if not isinstance(values, list) or not all(item in known for item in values):
        raise OptionError(f"{place} is {values!r}, but must be a list of{kind} {', '.join(known)}")
    return tuple(values)


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
            f"{place} has unknown keys {', '.join(unknown)}; known keys are {', '.join(known)}"
        )


def _typed(value: Any, kind: type, place: str) -> Any:
    if type(value) is not kind:
        raise OptionError(f"{place} is {value!r}, but must be {_KINDS[kind]}")
    return value


def _check_number(value: int, key: str, limits: tuple[int, int], place: str) -> None:
    least, greatest = limits
    if not least <= value <= greatest:
        raise OptionError(f"{place}: {key} is {value}, but must be {least} to {greatest}")
    if key in POWERS_OF_TWO and value & (value - 1):
        raise OptionError(f"{place}: {key} is {value}, but must be a power of two")
