"""How much memory a compilation takes beside the model file."""

import tracemalloc

import numpy as np
import pytest
from graphs.operators import file_of

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.ir import Blocks, Op, Quantization, Tensor, constant

LAYERS, WIDTH = 12, 1024
PLAIN = {"fused_activation_function": "NONE"}


def layers(dtype: str) -> bytes:
    """Layers one after the other whose weights are quantized, the rows between them not."""
    values = np.random.default_rng(3).integers(-7, 8, (WIDTH, WIDTH)).astype(np.int8)
    ops, x = [], Tensor("x", (1, WIDTH))
    for layer in range(LAYERS):
        weights = Tensor(f"w{layer}", values.shape, dtype, np.roll(values, layer))
        if dtype == "int4":
            scales = np.full((WIDTH, WIDTH // 32), 0.5, np.float16)
            weights.blocks = Blocks(32, constant(f"s{layer}", scales), None)
        else:
            weights.quantization = Quantization((0.5,) * WIDTH, (0,) * WIDTH)
        y = Tensor(f"y{layer}", (1, WIDTH))
        ops.append(Op("FULLY_CONNECTED", (x, weights, None), (y,), PLAIN))
        x = y
    return file_of(*ops)


@pytest.mark.parametrize("device", ["cpu_avx512", "cpu_avx512_bytes", "mali"])
@pytest.mark.parametrize("dtype", ["int8", "int4"])
def test_weights_are_floats_a_layer_at_a_time(dtype: str, device: str) -> None:
    """Each is held three times: as the file has it, as a kernel reads it, and in weights.bin."""
    model = layers(dtype)
    pipeline.build(model, Options(device=device))  # What is read once, such as templates.
    tracemalloc.start()
    pipeline.build(model, Options(device=device))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < (3 * LAYERS + 12) * WIDTH**2
