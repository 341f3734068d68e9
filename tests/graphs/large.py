"""Large models drawn from a seed, chains that branch and join: for figures on compile time."""

from random import Random
from typing import Any

import numpy as np

from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor, constant

SHAPE = (1, 11, 13, 17)
CHANNELS = SHAPE[3]
WINDOW = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
POOL = {**WINDOW, "filter_height": 3, "filter_width": 3}


def large_model(operators: int, seed: int = 7) -> bytes:
    """A .tflite file of that many operators, all on pictures of one shape."""
    random, weights = Random(seed), np.random.default_rng(seed)
    graph = Graph()
    recent = [Tensor("image", SHAPE)]
    graph.inputs, graph.input_names = [recent[0]], ["image"]
    for index in range(operators):
        name, operands, attrs = _draw(random, weights, recent, index)
        result = Tensor(f"t{index}", SHAPE)
        graph.add(Op(name, operands, (result,), attrs, index))
        recent = [*recent[-7:], result]
    graph.outputs, graph.output_names = [recent[-1]], ["result"]
    return write(graph)


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
