"""Convolutions of volumes."""

from rewriting import operators, rewritten

from tflgpu.compiler.rewrites.decompose.decomposition import decompose_operators

SOURCE = """
    input x float32[2,5,7,4,3]
    constant w float32[3,2,3,3,7]
    y = CONV_3D(x, w) padding=VALID stride_d=2
    output y
"""


def test_depths_of_the_result_are_images_with_the_channels_of_a_window() -> None:
    graph, _ = rewritten(SOURCE, decompose_operators)
    names = [op.name for op in graph.ops]
    assert names == [*["STRIDED_SLICE", "RESHAPE"] * 3, "CONCATENATION", "CONV_2D", "RESHAPE"]
    assert [graph.ops[n].constant(1).tolist()[1] for n in (0, 2, 4)] == [0, 1, 2]
    images, convolution = graph.ops[6].output, graph.ops[7]
    assert images.shape == (4, 7, 4, 9)
    assert convolution.operand(1).shape == (7, 2, 3, 9)
    assert graph.ops[8].output.shape == (2, 2, 6, 2, 7)


def test_depths_are_rows_if_the_window_has_a_single_row_and_column() -> None:
    source = SOURCE.replace("[3,2,3,3,7]", "[3,1,1,3,7]").replace("VALID", "SAME")
    graph, _ = rewritten(source, decompose_operators)
    before, convolution, after = graph.ops
    assert before.output.shape == (2, 5, 28, 3)
    assert convolution.operand(1).shape == (7, 3, 1, 3)
    assert convolution.attrs["padding"] == ((1, 1), (0, 0))
    assert after.output.shape == (2, 3, 7, 4, 7)


def test_computed_weights_are_those_of_images() -> None:
    source = SOURCE.replace("constant w", "input w")
    found = operators(source, decompose_operators).split()
    # A product for each of the two rows of the window, whose three depths are channels.
    assert found.count("BATCH_MATMUL") == 2 and "CONV_3D" not in found
