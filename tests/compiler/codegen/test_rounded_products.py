"""Products that are rounded before a sum: only in the kernels that need it."""

from pathlib import Path

import numpy as np
import pytest
from agreement import run
from cases.convolutions import window
from cases.quantized_layers import weights
from devices import Way, ways
from graphs import call, model, w, x

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.litert.reference import Reference

HYBRID = call("DEPTHWISE_CONV_2D", x(1, 9, 7, 5), weights((1, 3, 3, 5), 3), w(5), **window())
PLAIN = call("CONV_2D", x(1, 19, 17, 3), w(8, 3, 3, 3), w(8), **window())
MADE = model({"a": HYBRID, "b": PLAIN})


@pytest.mark.parametrize("way", [way for way in ways() if way.target == "opencl"], ids=str)
def test_sums_of_floats_are_those_of_xnnpack_behind_such_a_kernel(way: Way, tmp_path: Path) -> None:
    """Which adds up the taps of a window in order, each with one instruction."""
    compiled = pipeline.build(MADE.content, Options(device=way.profile, fallback="none"))
    found = run(compiled, way.device, tmp_path, MADE.inputs)
    for actual, wanted in zip(
        found.values(), Reference(MADE.content, kernels="XNNPACK").run(MADE.inputs), strict=True
    ):
        np.testing.assert_array_equal(actual, wanted)
