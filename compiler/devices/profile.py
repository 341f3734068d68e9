"""The profile of a device, read from a TOML file, and its rules for the devices it is for."""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from ...runtime.launch.device import DeviceInfo
from ...runtime.opencl.instructions import EXAMPLES
from ..errors import OptionError
from ..language.language import LANGUAGES
from ..options import TARGETS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Within:
    """The smallest and the largest value of a number."""

    least: int
    greatest: int
    power_of_two: bool = False


@dataclass(frozen=True)
class Listed:
    """What a list may have."""

    known: tuple[str, ...]
    kind: str = ""  # Of them, for messages.


def languages(*names: str) -> Listed:
    """Of kernel languages, those that have what it takes."""
    return Listed(names, " kernel languages")


@dataclass(frozen=True)
class Rule:
    """Conditions on a device; a condition that is left out always holds."""

    target: str = ""  # Language of its kernels: opencl or glsl.
    type: str = ""  # gpu, accelerator, cpu or other.
    vendor: str = ""
    platform: str = ""
    name: str = ""  # Part of the device's name, ignoring case.
    lanes: int = 0  # Float lanes of its native vectors.
    extension: str = ""
    # Instructions of its processor that kernels may use by name: it has one of them.
    instructions: Annotated[tuple[str, ...], Listed(tuple(EXAMPLES))] = ()

    def holds(self, info: DeviceInfo) -> bool:
        """Whether all conditions hold for a device."""
        holding = {
            "target": self.target == info.target,
            "type": self.type == info.type,
            "vendor": self.vendor.lower() in info.vendor.lower(),
            "platform": self.platform.lower() in info.platform.lower(),
            "name": self.name.lower() in info.name.lower(),
            "lanes": self.lanes == info.vector_width,
            "extension": self.extension in info.limits.extensions,
            "instructions": not set(self.instructions).isdisjoint(info.instructions),
        }
        return all(holding[condition] for condition in self.conditions)

    @property
    def conditions(self) -> dict[str, Any]:
        """The conditions that are set, by name; rules with more conditions are more specific."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in values.items() if value}

    def __str__(self) -> str:
        values = self.conditions
        if self.instructions:
            values["instructions"] = " or ".join(self.instructions)
        return ", ".join(f"{name} {value}" for name, value in values.items()) or "any"


Storage = Literal["buffer", "image"]


@dataclass(frozen=True)
class Profile:
    """The facts about a device that shape its kernels."""

    name: str
    description: str
    # "processor": the work-items of a group run one after another on a core with explicit vectors;
    # "gpu": they run side by side.
    kind: Literal["processor", "gpu"]
    slice_width: Annotated[int, Within(4, 16, True)]
    # Whether convolutions load whole slices of their input instead of single lanes.
    slice_loads: bool
    # Bytes that an argument's offset in its buffer must be a multiple of.
    alignment: Annotated[int, Within(4, 65536, True)]
    max_group: Annotated[int, Within(1, 65536)]
    max_arguments: Annotated[int, Within(4, 1024)]
    local_memory: Annotated[int, Within(0, 1 << 30)]
    # Slice-wide accumulators that a work-item of a convolution keeps in registers.
    accumulators: Annotated[int, Within(1, 64)]
    # Most slices of output channels that a work-item of a convolution computes.
    tile_slices: Annotated[int, Within(1, 8)]
    # Most channels for fusing a depthwise convolution with the 1x1 convolution after it; on
    # processors, of the latter's output.
    fused_channels: Annotated[int, Within(0, 4096)]
    # Fewest input and output channels for Winograd's algorithm; 0 disables it.
    winograd_channels: Annotated[int, Within(0, 65536)]
    # Fewest squares of 4x4 outputs for Winograd's algorithm.
    winograd_squares: Annotated[int, Within(1, 1 << 24)]
    # Whether a work-item of a transposed convolution computes all phases of a pixel.
    transposed_blocks: bool
    # Most output channels for transposed convolutions with several phases in one vector.
    transposed_thin: Annotated[int, Within(0, 16)]
    # Work-items that keep the device busy; tiles shrink until there are as many.
    work_items: Annotated[int, Within(1, 1 << 24)]
    # Work-items of a work-group if each does little work.
    light_group: Annotated[int, Within(1, 65536)]
    # Work-items of a work-group if each does much work, as in convolutions.
    heavy_group: Annotated[int, Within(1, 65536)]
    # Work-items that run in lockstep: a warp, wave or sub-group; 1 on processors.
    warp: Annotated[int, Within(1, 128, True)]
    # Multiply-adds of slices that take as long as the load of a slice, on GPUs.
    load_cost: Annotated[int, Within(1, 64)]
    # Kernels above which a persistent kernel is divided where that pays off; 0 disables them.
    persistent_kernels: Annotated[int, Within(0, 4096)]
    # Whether integers of 8 and 16 bits are stored as such rather than as floats.
    byte_storage: bool
    # The kernel languages in which bytes are multiplied four at a time; needs `byte_storage`.
    byte_products: Annotated[tuple[str, ...], languages("opencl", "vulkan", "wgsl")] = ()
    # What OpenCL C kernels read weights from: "buffer" or "image".
    weight_storage: Storage = "buffer"
    # What OpenCL C kernels read slices of activations from: "buffer" or "image".
    tensor_storage: Storage = "buffer"
    # Whether work-items share the sums of layers of few pixels, through local memory.
    shared_sums: bool = False
    # Registers of a work-item, of 32 bits, with which enough of them are in flight, on GPUs; tiles
    # that need more are rejected. 0 for any number.
    registers: Annotated[int, Within(0, 1024)] = 0
    # Whether the compiler loads all pixels of a tile before it multiplies the first, so that each
    # holds registers, unless they may lie outside the image.
    loads_ahead: bool = False
    # Whether a register holds two halves, so that tiles in half precision may be twice as large.
    paired_halves: bool = True
    # Whether kernels for Vulkan store four neighbouring pixels of floats at once, and up to eight
    # in half precision.
    joined_stores: bool = False
    # Most work-items of a work-group along its third axis; 64 is the minimum that OpenGL ES and
    # Vulkan guarantee. Along the others it is `max_group`.
    max_group_depth: Annotated[int, Within(1, 65536)] = 64
    # Most texels of an image buffer; 65536 is the minimum of OpenCL's full profile.
    image_texels: Annotated[int, Within(1, 1 << 30)] = 65536
    # Most bytes of a buffer that are bound to a kernel.
    max_binding: Annotated[int, Within(1 << 24, 1 << 40)] = 1 << 40
    # Iterations of all loops of a work-item, after which the driver ends them without an error.
    loop_iterations: Annotated[int, Within(1, 1 << 30)] = 1 << 30
    # The kernel languages in which the work-items of a sub-group add up what they have.
    sub_groups: Annotated[tuple[str, ...], languages("opencl", "vulkan")] = ()
    # The kernel languages in which arithmetic in half precision is faster than in single.
    half_arithmetic: Annotated[tuple[str, ...], languages(*LANGUAGES)] = ()
    # The targets that drivers of such devices take.
    targets: Annotated[tuple[str, ...], Listed(TARGETS)] = TARGETS
    # The devices it is for; a profile without rules can only be chosen by name.
    match: tuple[Rule, ...] = ()


TEXEL_LANES = 4  # Lanes of a texel, which holds one slice.
_KINDS = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    list: "a list of tables",
    dict: "a table",
}


def parse(text: str, name: str, place: str, known: Callable[[str], Profile]) -> Profile:
    """The profile in the text of a TOML file; OptionErrors name `place`, the file, and the key.

    The key `like` names a profile that `known` returns (OptionError): it has the values of all keys
    that are left out, but not the devices to match.
    """
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise OptionError(f"{place} is not a TOML file: {error}") from error
    found: dict[str, Any] = {}
    if "like" in values:
        like = _typed(values.pop("like"), str, f"{place}: like")
        try:
            found = {**vars(known(like)), "match": ()}
        except OptionError as error:
            raise OptionError(f"{place}: like: {error}") from error
    found |= {"name": name, **_members(Profile, values, place)}
    required = [each.name for each in fields(Profile) if each.default is MISSING]
    if missing := [key for key in required if key not in found]:
        raise OptionError(f"{place} lacks the keys {', '.join(missing)}")
    profile = Profile(**found)
    for contradiction in _contradictions(profile):
        raise OptionError(f"{place}: {contradiction}")
    return profile


def _contradictions(profile: Profile) -> Iterator[str]:
    """Why values do not go together."""
    if not profile.targets:
        yield f"targets is empty, but must have one of {', '.join(TARGETS)}"
    for key in ("weight_storage", "tensor_storage"):
        if getattr(profile, key) == "image":
            if profile.slice_width != TEXEL_LANES:
                yield f"{key} is 'image', so slice_width must be {TEXEL_LANES}"
            if profile.persistent_kernels:
                yield f"{key} is 'image', so persistent_kernels must be 0"
            if "opencl" in profile.byte_products:
                yield "byte_products has 'opencl', so weights and tensors must be buffers"
    for key in ("light_group", "heavy_group"):
        if getattr(profile, key) > profile.max_group:
            size, most = getattr(profile, key), profile.max_group
            yield f"{key} is {size}, but must be at most max_group, {most}"
    if "vulkan" in profile.byte_products and "metal" in profile.targets:
        yield (
            "byte_products has 'vulkan', so targets must not have 'metal', whose kernels are "
            "translated from Vulkan's"
        )


@cache
def _hints(kind: Any) -> dict[str, Any]:
    found = get_type_hints(kind, include_extras=True)
    if kind is Profile:
        del found["name"]  # that of the file
    return found


def _members(kind: Any, values: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The values of a table, as the type hints say (OptionError)."""
    hints = _hints(kind)
    if unknown := sorted(values.keys() - hints.keys()):
        raise OptionError(
            f"{place} has unknown keys {', '.join(unknown)}; known keys are {', '.join(hints)}"
        )
    return {key: _value(hints[key], value, f"{place}: {key}") for key, value in values.items()}


def _value(hint: Any, value: Any, place: str) -> Any:
    limits = get_args(hint)[-1] if get_origin(hint) is Annotated else None
    if isinstance(limits, Within):
        return _number(_typed(value, int, place), limits, place)
    if isinstance(limits, Listed):
        if not isinstance(value, list) or not all(item in limits.known for item in value):
            known = ", ".join(limits.known)
            raise OptionError(f"{place} is {value!r}, but must be a list of{limits.kind} {known}")
        return tuple(value)
    if get_origin(hint) is Literal:
        if _typed(value, str, place) not in get_args(hint):
            known = ", ".join(get_args(hint))
            raise OptionError(f"{place} is {value!r}, but must be one of {known}")
        return value
    if get_origin(hint) is tuple:
        tables = (_typed(each, dict, place) for each in _typed(value, list, place))
        return tuple(Rule(**_members(Rule, each, place)) for each in tables)
    return _typed(value, hint, place)


def _typed(value: Any, kind: type, place: str) -> Any:
    if type(value) is not kind:
        raise OptionError(f"{place} is {value!r}, but must be {_KINDS[kind]}")
    return value


def _number(value: int, limits: Within, place: str) -> int:
    if not limits.least <= value <= limits.greatest:
        raise OptionError(f"{place} is {value}, but must be {limits.least} to {limits.greatest}")
    if limits.power_of_two and value & (value - 1):
        raise OptionError(f"{place} is {value}, but must be a power of two")
    return value
