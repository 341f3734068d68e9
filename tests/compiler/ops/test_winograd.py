"""3x3 convolutions by Winograd's algorithm: in both languages, with all slice widths."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement import assert_agrees
from cases.convolutions import conv, window
from cases.pools import pooled
from devices import Attached, fitting_profiles, own_profile
from graphs import Value, call, known, model

# Lets small convolutions use the algorithm.
SMALL = {"winograd_channels": 8, "winograd_squares": 1}
# Lets one kernel do all steps, in GLSL, too: a work-item has all local memory of its group.
OWN_MEMORY: dict[str, int | str] = {"kind": "processor", "heavy_group": 1, "local_memory": 32768}


def profiles(attached: Attached, folder: Path) -> dict[str, int]:
    """Profiles with which the algorithm is chosen, each with the kernels of a convolution."""
    processors = fitting_profiles(attached.device) if attached.target == "opencl" else []
    three = own_profile(folder, "gpu", **SMALL)
    if attached.target == "wgsl":  # whose limit of local memory holds for every profile
        return {three: 3}
    one = own_profile(folder, "gpu", **SMALL, **OWN_MEMORY)
    return {**dict.fromkeys(processors, 1), one: 1, three: 3}


def network() -> Value:
    """Edges of every kind, several pictures, and all that a store may do besides.

    The first is 14 wide; the second 15, which is a multiple of 5 but not of the squares of 4.
    """
    image = pooled(2, 15, 14, 19)
    residual = call("RELU6", call("ADD", conv(image, (19, 19)), image))
    pads = known(np.array([[0, 0], [1, 2], [0, 3], [0, 0]], np.int32))
    padded = conv(call("PAD", residual, pads), (35, 19), **window("VALID"))
    return call("MUL", padded, call("LOGISTIC", padded))


def test_numbers_agree(attached: Attached, tmp_path: Path) -> None:
    made = model({"y": network()})
    for name, steps in profiles(attached, tmp_path).items():
        options: dict[str, Any] = {"target": attached.target, "device": name}
        plan = assert_agrees(made, attached.device, tmp_path, 1e-5, **options).plan
        files = [plan.kernels[dispatch.kernel].file for dispatch in plan.dispatches]
        assert sum("winograd" in file for file in files) == 2 * steps, name


def test_the_last_strip_ends_below_the_image(opencl_device: str, tmp_path: Path) -> None:
    """Its squares below the image are not stored, even if squares fill the image's height."""
    made = model({"y": conv(pooled(1, 28, 20, 19), (19, 19))})
    plan = assert_agrees(made, opencl_device, tmp_path, 1e-5, device=opencl_device).plan
    (dispatch,) = (d for d in plan.dispatches if "CONV_2D" in d.label)
    tile = re.match(r"tile (\d+) x", dispatch.why)
    assert tile and dispatch.grid[0] * int(tile[1]) > 7 * 5


@pytest.mark.parametrize(
    ("channels", "outputs", "kernel"),
    [(32, 16, "winograd.cl"), (192, 16, "winograd.cl"), (256, 300, "winograd_product.cl")],
)
def test_errors_are_small(
    channels: int, outputs: int, kernel: str, opencl_device: str, tmp_path: Path
) -> None:
    """Against LiteRT, with weights that keep the size of the values."""
    random = np.random.default_rng(channels)
    weights = random.standard_normal((outputs, 3, 3, channels)) / (3 * channels**0.5)
    image = pooled(1, 16, 16, channels)
    zeros = np.zeros(outputs, np.float32)
    value = call("CONV_2D", image, known(weights.astype(np.float32)), known(zeros), **window())
    made = model({"y": value})
    plan = assert_agrees(made, opencl_device, tmp_path, 5e-6, device=opencl_device).plan
    assert any(each.file.endswith(kernel) for each in plan.kernels)
