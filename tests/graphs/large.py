"""Large models drawn from a seed, chains that branch and join: for figures on compile time."""

from random import Random
from typing import Any

import numpy as np

from tflgpu.compiler.ir import Op, Tensor, constant

from .operators import file_of

SHAPE = (1, 11, 13, 17)
CHANNELS = SHAPE[3]
WINDOW = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
POOL = {**WINDOW, "filter_height": 3, "filter_width": 3}


def large_model(operators: int, seed: int = 7) -> bytes:
    """A .tflite file of that many operators, all on pictures of one shape."""
    random, weights = Random(seed), np.random.default_rng(seed)
    recent, ops = [Tensor("image", SHAPE)], []
    for index in range(operators):
        name, operands, attrs = _draw(random, weights, recent, index)
        result = Tensor(f"t{index}", SHAPE)
        ops.append(Op(name, operands, (result,), attrs))
        recent = [*recent[-7:], result]
    return file_of(*ops, outputs=recent[-1:])


def _draw(
    random: Random, weights: np.random.Generator, recent: list[Tensor], index: int
) -> tuple[str, tuple[Tensor, ...], dict[str, Any]]:
    """An operator on what was computed last, and sometimes on something shortly before it."""

    def drawn(*shape: int) -> Tensor:
        data = weights.normal(0, 0.1, shape).astype(np.float32)
        return constant(f"w{index}_{len(shape)}", data)

    last, other = recent[-1], random.choice(recent)
    kind = random.randrange(6)
    if kind == 0:
        return "CONV_2D", (last, drawn(CHANNELS, 1, 1, CHANNELS), drawn(CHANNELS)), WINDOW
    if kind == 1:
        filters = (last, drawn(1, 3, 3, CHANNELS), drawn(CHANNELS))
        return "DEPTHWISE_CONV_2D", filters, {**WINDOW, "depth_multiplier": 1}
    if kind == 2:
        return "MAX_POOL_2D", (last,), POOL
    if kind == 3:
        return "ADD", (last, other), {}
    if kind == 4:
        return "MUL", (last, other), {}
    return "LOGISTIC", (last,), {}
