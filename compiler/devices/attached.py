"""Which device profile a compilation is for: the one named, or the attached device's."""

from __future__ import annotations

from dataclasses import dataclass

from ...runtime.errors import DeviceError
from ...runtime.launch.device import DeviceInfo
from ...runtime.opencl import find as opencl
from ..errors import OptionError
from . import Profile, Rule, names_profile, profile, profiles

GLSL_LANES = 4
GLSL = "gpu"
"""The profile of GLSL kernels where none is named: OpenGL says too little of a device to choose."""


def choose_profile(device: str, target: str) -> Profile:
    """The profile for `device`: "auto", part of an attached device's name, a profile or its file.

    DeviceError, which lists devices and profiles, if nothing has that name; OptionError for a
    profile whose slices are not what the target's vectors hold, or whose file is wrong.
    """
    if names_profile(device):
        return _named(device, target)
    if target != "opencl" and device == "auto":
        return profile(GLSL)
    try:
        return profile_for(select_device(device, target))
    except DeviceError as error:
        names = ", ".join(profiles())
        raise DeviceError(f"{error}\nor compile for a device profile: {names}") from error


def _named(name: str, target: str) -> Profile:
    chosen = profile(name)
    if target != "opencl" and chosen.slice_width != GLSL_LANES:
        fitting = [item.name for item in profiles().values() if item.slice_width == GLSL_LANES]
        raise OptionError(
            f"device={name!r} has slices of {chosen.slice_width} lanes, vectors of {target} have "
            f"{GLSL_LANES}; choose one of {', '.join(fitting)}"
        )
    return chosen


def select_device(device: str, target: str) -> DeviceInfo:
    """The attached device of that name for kernels of that language (DeviceError)."""
    if target in ("vulkan", "metal"):
        raise DeviceError(f"kernels for {target} do not run here, so no device of that name does")
    if target == "glsl":
        # Only now, because moderngl is an extra.
        from ...runtime.opengl import find as opengl

        return opengl.select_device(device)
    return opencl.select_device(device)


def attached_device(device: str) -> str:
    """The device to load on what was compiled for `device`: "auto" if that is a profile."""
    return "auto" if names_profile(device) else device


@dataclass(frozen=True)
class Match:
    """The profile of an attached device, and the rule of that profile which holds for it."""

    profile: Profile
    rule: Rule


def match(info: DeviceInfo) -> Match:
    """The profile with the rule that asks for most of all that hold."""
    holding = [
        Match(item, rule) for item in profiles().values() for rule in item.match if rule.holds(info)
    ]
    # The first of equals, so that the names of the profiles decide.
    return max(holding, key=lambda found: len(found.rule.conditions))


def profile_for(info: DeviceInfo) -> Profile:
    """The profile an attached device gets."""
    return match(info).profile
