"""Rotations that become one; numbers are compared in tests/compiler/ops."""

import pytest
from cases.attention import turned_projections
from rewriting import operators

from tflgpu.compiler.rewrites.decompose.decomposition import decompose_operators
from tflgpu.compiler.rewrites.fuse.join_projections import join_projections, join_rotations
from tflgpu.compiler.rewrites.layout.merge_moves import drop_identity, merge_reshapes
from tflgpu.compiler.rewrites.recognize.recognize_attention import recognize_attention
from tflgpu.compiler.rewrites.recognize.recognize_rotation import recognize_rotation

RULES = (
    decompose_operators,
    recognize_rotation,
    recognize_attention,
    merge_reshapes,
    drop_identity,
    join_projections,
    join_rotations,
)


@pytest.mark.parametrize(("alike", "rotations"), [(True, 1), (False, 2)])
def test_queries_and_keys_are_turned_together_by_the_same_angles(
    alike: bool, rotations: int
) -> None:
    found = operators(turned_projections(alike), *RULES).split()
    assert found.count("FULLY_CONNECTED") == 1
    assert found.count("tflgpu.rotate") == rotations
