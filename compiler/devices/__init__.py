"""Device profiles: what the compiler must know of a device, one small TOML file each."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ..errors import OptionError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Profile:
    """The facts about a device that shape the kernels."""

    name: str
    description: str
    slice_width: int
    """Lanes of one slice of channel-sliced storage."""
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
    work_items: int
    """Work-items that keep the device busy; tiles shrink until there are as many."""
    light_group: int
    """Work-items of a work-group of a kernel that does little per item."""
    heavy_group: int
    """Work-items of a work-group of a kernel that does much per item, convolutions above all."""
    scalar_loads: bool
    """Whether reading one lane from memory beats taking it out of a vector register."""
    half: bool = False
    """Whether slices of activations are stored in half precision; set by the compilation."""

    @property
    def lane_bytes(self) -> int:
        """Bytes of one lane of a stored slice."""
        return 2 if self.half else 4


@cache
def profiles() -> dict[str, Profile]:
    """Every profile by name."""
    result = {}
    for file in sorted(files(__name__).iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".toml"):
            profile = Profile(name=file.name[: -len(".toml")], **tomllib.loads(file.read_text()))
            result[profile.name] = profile
    return result


def profile(name: str) -> Profile:
    """The profile of that name; OptionError that lists them all if there is none."""
    if name not in profiles():
        raise OptionError(f"no device profile {name!r}; there are {', '.join(profiles())}")
    return profiles()[name]


__all__ = ["Profile", "profile", "profiles"]
