"""Transposed convolutions by phases, on profiles made so that each kernel runs in each language."""

from pathlib import Path

import numpy as np
import pytest
from agreement import assert_cases
from cases import Case, families
from cases.transposed_convolutions import transposed
from devices import Way, fitting_profiles, own_profile
from graphs import call, ints, known, model, w, x

from tflgpu.compiler import ModelError

CASES = [
    case for name in ("TRANSPOSE_CONV", "Convolution2DTransposeBias") for case in families()[name]
]

ATTRS = {"padding": "SAME", "stride_h": 2, "stride_w": 2}


def test_blocks_in_glsl(opengl_device: str, tmp_path: Path) -> None:
    profile = own_profile(tmp_path, "gpu", transposed_blocks=True)
    assert_cases(CASES[1::4], Way("glsl", profile, opengl_device), tmp_path)


def test_blocks_of_images(opencl_device: str, tmp_path: Path) -> None:
    profile = own_profile(tmp_path, "adreno", transposed_blocks=True)
    assert_cases(CASES[::2], Way("opencl", profile, opencl_device), tmp_path)


def test_few_accumulators(opencl_device: str, tmp_path: Path) -> None:
    """Tiles of one pixel, which keep more sums than the profile asks for."""
    widest = fitting_profiles(opencl_device)[-1]
    profile = own_profile(tmp_path, widest, accumulators=3, tile_slices=4)
    assert_cases(CASES[::4], Way("opencl", profile, opencl_device), tmp_path)


def test_more_channels_than_a_slice_are_not_thin(opencl_device: str, tmp_path: Path) -> None:
    profile = own_profile(tmp_path, "cpu", transposed_thin=8)
    values = {
        n: transposed(x(1, 5, 7, 11), n, (2, 2), (10, 14), True, **ATTRS) for n in (3, 4, 5, 8)
    }
    cases = [Case("TRANSPOSE_CONV", f"{n} channels", value) for n, value in values.items()]
    assert_cases(cases, Way("opencl", profile, opencl_device), tmp_path)


def test_thin_ones_amid_others(opencl_device: str, tmp_path: Path) -> None:
    """A value that is stored before its activation, too, and outputs that are parts of others."""
    value = transposed(x(2, 5, 7, 11), 3, (2, 2), (10, 14), True, **ATTRS)
    curve = call("LOGISTIC", value)
    both = call("CONCATENATION", call("MAXIMUM", value, known(np.float32(0.25))), curve, axis=3)
    rows = call("CONCATENATION", curve, call("ABS", x(2, 3, 14, 3)), axis=1)
    used_twice = call("CONV_2D", both, w(5, 1, 1, 6), w(5), padding="SAME", stride_h=1, stride_w=1)
    cases = [
        Case("TRANSPOSE_CONV", name, found)
        for name, found in (("channels", used_twice), ("rows", call("TANH", rows)))
    ]
    for profile in fitting_profiles(opencl_device):
        assert_cases(cases, Way("opencl", profile, opencl_device), tmp_path / profile)


def test_a_bias_of_one_entry_is_refused_with_what_to_do() -> None:
    operands = (ints(1, 8, 8, 5), w(5, 3, 3, 4), x(1, 4, 4, 4), w(1))
    with pytest.raises(ModelError, match=r"bias has 1 entries for 5 output .* an entry for each"):
        model({"y": call("TRANSPOSE_CONV", *operands, **ATTRS)})
