"""NON_MAX_SUPPRESSION as tflgpu.suppress."""

import pytest
from rewriting import rewritten

from tflgpu.compiler.rewrites.decompose.decomposition import decompose_operators

BOXES = """
    input b float32[7,4]
    input s float32[7]
    constant n int32[] = 3
    constant overlap float32[] = 0.5
    constant least float32[] = 0.1
    constant sigma float32[] = 0.25
"""


@pytest.mark.parametrize(
    ("call", "sigma"),
    [
        ("k, c = NON_MAX_SUPPRESSION_V4(b, s, n, overlap, least)", 0.0),
        ("k, f, c = NON_MAX_SUPPRESSION_V5(b, s, n, overlap, least, sigma)", 0.25),
    ],
    ids=["V4", "V5"],
)
def test_only_the_fifth_version_suppresses_softly(call: str, sigma: float) -> None:
    results = call.split(" = ")[0]
    graph, _ = rewritten(f"{BOXES}\n {call}\n output {results}", decompose_operators)
    (op,) = (op for op in graph.ops if op.name == "tflgpu.suppress")
    assert op.constant(2).tolist() == pytest.approx([0.5, 0.1, sigma])
    assert [tensor.shape for tensor in op.outputs] == [(3 + 1,), (3 + 7,)]
