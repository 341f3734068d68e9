"""How pixels become the values of an input, and what is said about it."""

import numpy as np
import pytest

from tflgpu.compiler.frontend.metadata import TensorMetadata
from tflgpu.compiler.pictures.scaling import Scaling, choose_scaling
from tflgpu.runtime import InputError, TensorInfo

PIXELS = np.array([0, 51, 255], np.uint8).reshape(1, 1, 3)
SYMMETRIC = TensorMetadata("picture", (127.5,), (127.5,))


def info(dtype: str, scale: float = 0.0, zero_point: int = 0) -> TensorInfo:
    return TensorInfo("x", (1, 1, 1, 3), dtype, scale, zero_point)


@pytest.mark.parametrize(
    ("scaling", "taken", "values", "words"),
    [
        (Scaling(), info("float32"), [0, 0.2, 1], "0..1, which is assumed"),
        (
            choose_scaling(SYMMETRIC),
            info("float32"),
            [-1, -0.6, 1],
            "-1..1, as the model's metadata says",
        ),
        (choose_scaling(SYMMETRIC, [0], [51]), info("float32"), [0, 1, 5], "0..5, as asked"),
        (choose_scaling(None, [], [51]), info("float32"), [0, 1, 5], "0..5, as asked"),
        (
            choose_scaling(None, [0, 51, 255], [1, 2, 4]),
            info("float32"),
            [0, 0, 0],
            "0/-25.5/-63.75..255/102/0, as asked",
        ),
        (Scaling(), info("uint8", 0.5, 3), [0, 51, 255], "uint8, which is assumed"),
        (Scaling(), info("int8", 0.5, 3), [-128, -77, 127], "int8 minus 128, which is assumed"),
        (
            choose_scaling(SYMMETRIC),
            info("int8", 1 / 128, 0),
            [-128, -77, 127],
            "-1..1, quantized to int8, as the model's metadata says",
        ),
        (choose_scaling(None, [0], [51]), info("uint8", 0.5, 7), [7, 9, 17], "to uint8, as asked"),
    ],
)
def test_pixels_become_values(
    scaling: Scaling, taken: TensorInfo, values: list[float], words: str
) -> None:
    result = scaling.apply(PIXELS, taken)
    assert result.dtype == np.dtype(taken.dtype)
    np.testing.assert_allclose(result.ravel(), values, atol=1e-6)
    assert scaling.describe(taken).startswith("pixels 0..255 become ")
    assert scaling.describe(taken).endswith(words)


def test_scalings_that_cannot_be() -> None:
    with pytest.raises(InputError, match="std is 0, but pixels are divided by it"):
        Scaling(std=(1.0, 0.0, 1.0))
    with pytest.raises(InputError, match="both must be finite"):
        Scaling(mean=(float("nan"),))
    with pytest.raises(InputError, match="2 numbers to scale the channels of input x"):
        Scaling(mean=(1.0, 2.0)).apply(PIXELS, info("float32"))
