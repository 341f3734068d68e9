"""What stays on the device between parts on LiteRT."""

import pytest
from flatbuffers import flexbuffers
from graphs import model, parsed, typed, xi
from graphs.operators import file_of

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.errors import Finding, UnsupportedError
from tflgpu.compiler.ir import Op, Tensor
from tflgpu.compiler.litert.partition import Partition, partition
from tflgpu.compiler.litert.regions import EXCHANGE, PER_BYTE, multiply_adds, regions

CONVOLUTION = """
    input x float32[1,{size},{size},8]
    constant w float32[16,3,3,8]
    constant b float32[16]
    a = TANH(x)
    c = CONV_2D(a, w, b) padding=SAME stride_w=1 stride_h=1
    d = COS(c)
    output d
"""


def around(text: str, *chosen: str) -> Partition:
    """The partition with the operators of these names on LiteRT."""
    graph = parsed(text).graph
    return partition(
        graph, {op: Finding(op.index, op.name, "chosen") for op in graph.ops if op.name in chosen}
    )


def test_multiply_adds_are_counted() -> None:
    graph = parsed(
        """
        input x float32[1,5,7,8]
        constant w float32[16,3,3,8]
        constant v float32[1,3,3,16]
        constant b float32[16]
        constant s int32[3] = 1, 35, 16
        c = CONV_2D(x, w, b) padding=SAME stride_w=1 stride_h=1
        d = DEPTHWISE_CONV_2D(c, v, b) padding=SAME stride_w=1 stride_h=1 depth_multiplier=1
        e = TANH(d)
        f = RESHAPE(e, s)
        g = BATCH_MATMUL(f, f) adj_y=True
        output g
        """
    ).graph
    elements = 5 * 7 * 16
    assert [multiply_adds(op) for op in graph.ops] == [
        elements * 9 * 8,
        elements * 9,
        elements,
        0,
        35 * 35 * 16,
    ]


@pytest.mark.parametrize(("size", "parts"), [(16, 1), (64, 2)])
def test_a_region_stays_where_it_computes_enough(size: int, parts: int) -> None:
    found = around(CONVOLUTION.format(size=size), "TANH", "COS")
    assert len(found.parts) == parts
    work, copied = size * size * 16 * 9 * 8, size * size * (8 + 16) * 4
    assert (work >= EXCHANGE + PER_BYTE * copied) == (parts == 2)
    reasons = {op.name: finding.reason for op, finding in found.findings.items()}
    assert reasons.get("CONV_2D") == (
        None
        if parts == 2
        else f"its region of 1 operator, with {work:,} multiply-adds, is not worth copying "
        f"{copied:,} bytes from and to LiteRT"
    )


def test_a_region_at_the_end_counts_only_what_crosses() -> None:
    graph = parsed(CONVOLUTION.format(size=16)).graph
    last = [op for op in graph.ops if op.name == "COS"]
    (region,) = regions(graph, last)
    assert sorted(op.name for op in region.ops) == ["CONV_2D", "TANH"]
    assert [tensor.name for tensor in region.crossing] == ["c"]


def test_what_only_moves_data_never_stays() -> None:
    text = """
        input x float32[1,512,512,64]
        constant order int32[4] = 0, 2, 1, 3
        a = TANH(x)
        b = TRANSPOSE(a, order)
        c = COS(b)
        output c
    """
    found = around(text, "TANH", "COS")
    assert len(found.parts) == 1
    (reason,) = [f.reason for op, f in found.findings.items() if op.name == "TRANSPOSE"]
    assert reason == "it only moves data to or from operators on LiteRT"


def test_a_model_without_parts_stays_whole_on_the_device() -> None:
    assert not around(CONVOLUTION.format(size=4)).parts


@pytest.mark.parametrize("name", ["STABLEHLO_COMPARE", "MATRIX_DIAG"])
def test_a_small_region_stays_if_litert_cannot_or_must_not_run_it(name: str) -> None:
    """LiteRT has no kernel for the first, and that of the second writes beyond its memory."""
    mask = typed("bool", "LOGICAL_NOT", xi(2, 3, dtype="bool"))
    direction = {"comparison_direction": "STABLEHLO_COMPARISON_DIRECTION_EQ"}
    attrs, operands = (direction, (mask, mask)) if name == "STABLEHLO_COMPARE" else ({}, (mask,))
    content = model({"y": typed("bool", name, *operands, **attrs)}).content
    program = pipeline.build(content, Options(fallback_ops=("LOGICAL_NOT",)))
    assert [item["operator"] for item in program.report["fallback"]] == ["LOGICAL_NOT"]
    assert program.plan.dispatches


def test_only_operators_at_fault_are_refused() -> None:
    """Not their neighbours, which LiteRT would have run with them."""
    x, a, y = (Tensor(name, (2, 3)) for name in "xay")
    # An option that a custom operator calls so is no subgraph of the file.
    options = bytes(flexbuffers.Dumps({"subgraph": "of its own", "body_subgraph_index": 7}))
    mystery = Op("Mystery", (x,), (a,), {"custom_options": options})
    content = file_of(mystery, Op("TANH", (a,), (y,)))
    with pytest.raises(UnsupportedError) as caught:
        pipeline.build(content, Options())
    (finding,) = caught.value.findings
    assert finding.operator == "Mystery"
    assert finding.reason.endswith("unresolved custom op: Mystery.")
