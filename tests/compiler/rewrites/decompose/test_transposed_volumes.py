"""Transposed convolutions of volumes."""

from rewriting import rewritten

from tflgpu.compiler.ir import Graph
from tflgpu.compiler.rewrites.decompose.decomposition import decompose_operators

SOURCE = """
    input x float32[2,4,7,5,3]
    constant w float32[3,2,2,7,3]
    constant s int32[5] = 2, 8, 14, 10, 7
    y = CONV_3D_TRANSPOSE(s, w, x) padding=SAME stride_d=2 stride_h=2 stride_w=2
    output y
"""
COMPUTED = SOURCE.replace("constant w", "input w")


def decomposed(source: str) -> Graph:
    graph, _ = rewritten(source, decompose_operators)
    return graph


def transposed(graph: Graph) -> list[tuple[list[int], tuple[int, ...], tuple[int, ...]]]:
    """The shapes of the result, weights and image of each TRANSPOSE_CONV."""
    return [
        (op.constant(0).tolist(), op.operand(1).shape, op.operand(2).shape)
        for op in graph.ops
        if op.name == "TRANSPOSE_CONV"
    ]


def test_depths_that_take_the_same_steps_are_images_with_the_channels_of_these() -> None:
    graph = decomposed(SOURCE)
    assert transposed(graph) == [
        ([8, 14, 10, 7], (7, 2, 2, 6), (8, 7, 5, 6)),
        ([8, 14, 10, 7], (7, 2, 2, 3), (8, 7, 5, 3)),
    ]
    assert not {"CONV_3D", "REVERSE_V2"} & {op.name for op in graph.ops}
    # A depth of the second is behind the same depth of the first.
    *_, joined, last = graph.ops
    assert (joined.name, joined.output.shape) == ("CONCATENATION", (8, 28, 10, 7))
    assert (last.name, last.output.shape) == ("RESHAPE", (2, 8, 14, 10, 7))


def test_depths_beyond_the_result_are_cut_off() -> None:
    graph = decomposed(SOURCE.replace("2, 8, 14", "2, 7, 14"))
    assert (graph.ops[-1].name, graph.ops[-1].output.shape) == ("SLICE", (2, 7, 14, 10, 7))


def test_one_phase_of_depths_is_not_joined() -> None:
    graph = decomposed(SOURCE.replace("2, 8, 14", "2, 4, 14").replace("stride_d=2", "stride_d=1"))
    assert transposed(graph) == [([8, 14, 10, 7], (7, 2, 2, 9), (8, 7, 5, 9))]


def test_what_images_cannot_do_is_a_convolution_of_a_spread_volume() -> None:
    stepless = SOURCE.replace("w float32[3,", "w float32[1,")
    dilated = SOURCE.replace("stride_d=2", "stride_d=2 dilation_h_factor=2")
    fewer = SOURCE.replace("2, 8, 14", "2, 8, 12")  # of which 7 rows are not a convolution's
    for source in (stepless, dilated, fewer):
        names = {op.name for op in decomposed(source).ops}
        assert "CONV_2D" in names and "TRANSPOSE_CONV" not in names


def test_computed_weights_multiply_what_their_windows_cover() -> None:
    names = {op.name for op in decomposed(COMPUTED).ops}
    assert "BATCH_MATMUL" in names and not names & {"CONV_2D", "TRANSPOSE_CONV"}
