"""What is said of a plan that needs more than a device has."""

from dataclasses import replace
from typing import Any

import pytest

from tflgpu.runtime.launch.fit import unmet_limits
from tflgpu.runtime.plan.running import NOTHING, Limits

NEEDS = Limits(64, 30, (5, 3, 2), (1, 1, 5), 256, 3, 52, 1024, 16, ("cl_a",), 70)
EXCESSES: dict[str, tuple[dict[str, Any], str]] = {
    "alignment": (
        {"alignment": 128},
        "its arguments start at multiples of 64 bytes, but this device needs multiples of 128",
    ),
    "group": ({"group": 29}, "it has work-groups of 30 work-items, but the limit"),
    "group size": (
        {"group_sizes": (64, 2, 64)},
        "it has work-groups of 3 work-items along y, but the limit of this device is 2",
    ),
    "group count": ({"group_counts": (9, 9, 4)}, "it launches 5 work-groups along z, but the"),
    "local memory": ({"local_memory": 255}, "its work-groups share 256 bytes of memory, but the"),
    "arguments": ({"arguments": 2}, "it has kernels with 3 buffers, but the limit"),
    "argument size": ({"argument_size": 51}, "it passes 52 bytes of a buffer to a kernel, but"),
    "buffer size": ({"buffer_size": 1023}, "it has buffers of 1024 bytes, but the limit"),
    "texels": ({"image_texels": 15}, "it reads images of 16 texels, but the limit"),
    "iterations": ({"iterations": 69}, "its loops may take 70 iterations, but the limit"),
    "extension": ({"extensions": ("cl_ab",)}, "it needs cl_a, which this device lacks"),
}


@pytest.mark.parametrize("case", EXCESSES)
def test_what_a_device_lacks(case: str) -> None:
    has = replace(NEEDS, alignment=32, extensions=("cl_b", "cl_a"))
    assert not list(unmet_limits(NEEDS, has))
    fields, message = EXCESSES[case]
    assert next(unmet_limits(NEEDS, replace(has, **fields))).startswith(message)


def test_nothing_is_needed_of_any_device() -> None:
    assert not list(unmet_limits(NOTHING, NOTHING))
