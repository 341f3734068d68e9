"""What an adapter of WebGPU reports about itself."""

from collections.abc import Mapping, Set
from typing import Any

from ..launch.device import DeviceInfo, loop_limit
from ..plan.running import Limits

_TYPES = {"DiscreteGPU": "gpu", "IntegratedGPU": "gpu", "CPU": "cpu"}
# What kernels may need: wgpu's names of features, and those of WebGPU.
FEATURES = {"shader-f16": "shader-f16", "subgroup": "subgroups"}
# WebGPU's names of limits that are single numbers.
LIMITS = {
    "group": "max-compute-invocations-per-workgroup",
    "local_memory": "max-compute-workgroup-storage-size",
    "arguments": "max-storage-buffers-per-shader-stage",
    "argument_size": "max-storage-buffer-binding-size",
    "buffer_size": "max-buffer-size",
}
GROUP_SIZES = [f"max-compute-workgroup-size-{axis}" for axis in "xyz"]
GROUP_COUNTS = "max-compute-workgroups-per-dimension"


def describe(adapter: Any) -> DeviceInfo:
    said = adapter.info
    return DeviceInfo(
        name=said["device"],
        platform=said["vendor"],
        version=f"WebGPU on {said['backend_type']}",
        driver=said["description"].split(" (")[0] or "unknown",
        type=_TYPES.get(said["adapter_type"], "other"),
        vendor=said["vendor"],
        vector_width=4,
        limits=limits_of(adapter, said["device"]),
        compute_units=0,
        unified=said["adapter_type"] != "DiscreteGPU",
        target="wgsl",
    )


def limits_of(owner: Any, name: str) -> Limits:
    limits: Mapping[str, int] = owner.limits
    features: Set[str] = owner.features
    x, y, z = (limits[name] for name in GROUP_SIZES)
    return Limits(
        alignment=limits["min-storage-buffer-offset-alignment"],
        group_sizes=(x, y, z),
        group_counts=(limits[GROUP_COUNTS],) * 3,
        extensions=tuple(name for own, name in FEATURES.items() if own in features),
        iterations=loop_limit(name),
        **{field: limits[name] for field, name in LIMITS.items()},
    )
