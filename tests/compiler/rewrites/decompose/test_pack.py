"""PACK is a concatenation along a new axis."""

from pathlib import Path

import numpy as np
from rewriting import assert_agrees, assert_becomes

from tflgpu.compiler.rewrites.decompose.decomposition import decompose_operators

PACK = """
    input a float32[3,5]
    constant c float32[3,5]
    y = PACK(a, c) axis=-1 values_count=2
    output y
"""


def test_operands_are_reshaped_and_concatenated() -> None:
    expected = """
        y/reshape0.0 = RESHAPE(a) new_shape=(3,5,1)
        y = CONCATENATION(y/reshape0.0, y/reshape1.0) axis=2
    """
    graph = assert_becomes(PACK, expected, decompose_operators)
    part = graph.ops[1].constant(1)
    assert part.shape == (3, 5, 1) and np.abs(part).min() > 0


def test_numbers_agree(tmp_path: Path) -> None:
    assert_agrees(tmp_path, PACK)
