"""Non-maximum suppression on drivers that end long loops."""

import numpy as np
import pytest
from graphs import Call, Model, Part, known, model, x

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.errors import UnsupportedError


def suppression(boxes: int, most: int) -> Model:
    thresholds = known(np.float32(0.5)), known(np.float32(0.1))
    operands = x(boxes, 4), x(boxes), known(np.int32(most)), *thresholds
    found = Call("NON_MAX_SUPPRESSION_V4", operands, outputs=2, dtype="int32")
    return model({"found": [Part(found, 0), Part(found, 1)]})


def compiled(boxes: int, most: int, device: str) -> None:
    options = Options(target="glsl", device=device, fallback="none")
    pipeline.build(suppression(boxes, most).content, options)


def test_too_many_iterations_are_refused_where_the_driver_ends_loops() -> None:
    compiled(2000, 15, "llvmpipe")
    compiled(2000, 17, "gpu")
    with pytest.raises(UnsupportedError, match="may take 70017 iterations, but the driver"):
        compiled(2000, 17, "llvmpipe")
