"""The device profile for a compilation: the one named, or that of an attached device."""

from dataclasses import dataclass, replace

from ... import runtime
from ...runtime.errors import DeviceError
from ...runtime.launch.device import DeviceInfo
from ...runtime.opencl import find as opencl
from ...runtime.plan.running import Limits
from ..errors import OptionError
from ..options import FOR_OTHER_RUNTIMES
from . import Profile, Rule, names_profile, profile, profiles

GLSL_LANES = 4  # Lanes of a vector in GLSL.
# The default profile for GLSL, as OpenGL reports too little about a device to choose one.
GLSL = "gpu"
# Bytes of a buffer that every device lets kernels have: MAX_SHADER_STORAGE_BLOCK_SIZE in OpenGL ES
# 3.1, maxStorageBufferRange in Vulkan 1.0.
LEAST_BINDING = 1 << 27
WEBGPU = "webgpu"  # The default profile for WebGPU, whose limits every adapter has.


def choose_profile(device: str, target: str) -> Profile:
    """The profile for `device`: "auto", part of an attached device's name, or a profile.

    DeviceError, which lists devices and profiles, if nothing matches; OptionError if a profile's
    file is invalid or its slices do not fit the target's vectors.
    """
    if names_profile(device):
        return _guaranteed(_named(device, target), target)
    if target != "opencl" and device == "auto":
        return _guaranteed(profile(WEBGPU if target == "wgsl" else GLSL), target)
    try:
        info = select_device(device, target)
        chosen = _suited(profile_for(info), info.limits)
        return _guaranteed(chosen, target, max(info.limits.argument_size, LEAST_BINDING))
    except DeviceError as error:
        names = ", ".join(profiles())
        raise DeviceError(f"{error}\nor compile for a device profile: {names}") from error


def _suited(chosen: Profile, limits: Limits) -> Profile:
    """A profile with the offsets that an attached device needs, and with images if it has any."""
    chosen = replace(chosen, alignment=max(chosen.alignment, limits.alignment))
    if limits.image_texels:
        return chosen
    return replace(chosen, weight_storage="buffer", tensor_storage="buffer")


def _guaranteed(chosen: Profile, target: str, binding: int = LEAST_BINDING) -> Profile:
    """A profile within the limits of the target, whose devices bind so many bytes.

    Programs get no more of WebGPU than the least unless they ask.
    """
    if target in ("glsl", "vulkan"):
        return replace(chosen, max_binding=min(chosen.max_binding, binding))
    if target != "wgsl":
        return chosen
    limits = profile(WEBGPU)
    least = ("max_group", "max_group_depth", "max_arguments", "local_memory", "max_binding")
    within = {key: min(getattr(chosen, key), getattr(limits, key)) for key in least}
    return replace(chosen, alignment=max(chosen.alignment, limits.alignment), **within)


def _named(name: str, target: str) -> Profile:
    chosen = profile(name)
    if target != "opencl" and chosen.slice_width != GLSL_LANES:
        fitting = [item.name for item in profiles().values() if item.slice_width == GLSL_LANES]
        raise OptionError(
            f"device={name!r} has slices of {chosen.slice_width} lanes, but vectors of {target} "
            f"have {GLSL_LANES}; choose one of {', '.join(fitting)}"
        )
    return chosen


def select_device(device: str, target: str) -> DeviceInfo:
    """The attached device whose name contains `device`, for kernels of `target` (DeviceError)."""
    if target in FOR_OTHER_RUNTIMES:
        raise DeviceError(
            f"no device {device!r}: tflgpu's runtime does not run kernels for {target}"
        )
    if target == "opencl":
        return opencl.select_device(device)
    # Imported here because moderngl and wgpu are optional dependencies.
    if target == "glsl":
        from ...runtime.opengl import find as opengl

        return opengl.select_device(device)
    from ...runtime.webgpu import find as webgpu

    return webgpu.select_device(device)


def devices_here() -> list[DeviceInfo]:
    """The attached devices; none without a driver."""
    try:
        return list(runtime.devices())
    except DeviceError:
        return []


def attached_device(device: str) -> str:
    """The device on which to load a model compiled for `device`: "auto" if that is a profile."""
    return "auto" if names_profile(device) else device


@dataclass(frozen=True)
class Match:
    """The profile of an attached device, and the rule of the profile that matched."""

    profile: Profile
    rule: Rule


def match(info: DeviceInfo) -> Match:
    """The profile with the most specific rule that holds for a device."""
    holding = [
        Match(item, rule) for item in profiles().values() for rule in item.match if rule.holds(info)
    ]
    # max() returns the first of equals, so that ties are broken by the profiles' names.
    return max(holding, key=lambda found: len(found.rule.conditions))


def profile_for(info: DeviceInfo) -> Profile:
    return match(info).profile
