"""MediaPipe's Resampler, which LiteRT's interpreter does not know, against loops in numpy."""

from pathlib import Path
from typing import Any

import numpy as np
from agreement import run
from devices import Attached
from graphs.operators import file_of
from numpy.typing import NDArray

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.ir import Op, Tensor

Array = NDArray[Any]


def resampled(x: Array, warp: Array) -> Array:
    """The weighted sum of the four pixels around each place, in float64."""
    result = np.zeros((*warp.shape[:3], x.shape[3]))
    for batch, row, column in np.ndindex(*warp.shape[:3]):
        across, down = warp[batch, row, column, :2].astype(np.float64)
        for y in (int(np.floor(down)), int(np.floor(down)) + 1):
            for at in (int(np.floor(across)), int(np.floor(across)) + 1):
                if 0 <= y < x.shape[1] and 0 <= at < x.shape[2]:
                    weight = (1 - abs(down - y)) * (1 - abs(across - at))
                    result[batch, row, column] += weight * x[batch, y, at]
    return result


def test_between_pixels_and_outside(attached: Attached, tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    x = random.standard_normal((2, 5, 7, 3)).astype(np.float32)
    warp = random.uniform(-2, 8, (2, 3, 11, 2)).astype(np.float32)
    warp[0, 0, :4] = np.array([[0, 0], [6, 4], [-1e9, 2], [1e9, 1e9]], np.float32)
    inputs = Tensor("x", x.shape), Tensor("warp", warp.shape)
    content = file_of(Op("Resampler", inputs, (Tensor("y", (*warp.shape[:3], 3)),)))
    options = Options(target=attached.target, device=attached.device)
    found = run(pipeline.build(content, options), attached.device, tmp_path, {"x": x, "warp": warp})
    np.testing.assert_allclose(found["y"], resampled(x, warp), atol=1e-5)
