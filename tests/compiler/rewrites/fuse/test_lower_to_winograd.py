"""Winograd's algorithm as three kernels."""

from dataclasses import replace

import pytest
from cases.convolutions import conv, window
from graphs import Value, call, model, x
from rewriting import assert_declines, rewritten

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.rewrites.fuse.fuse_elementwise import fuse_elementwise
from tflgpu.compiler.rewrites.fuse.lower_to_winograd import lower_to_winograd


def test_the_steps_of_a_convolution() -> None:
    source = """
        input x float32[1,21,24,64]
        constant w float32[70,3,3,64]
        constant b float32[70]
        t = CONV_2D(x, w, b) padding=SAME stride_h=1 stride_w=1
        y = RELU6(t)
        output y
    """
    graph, _ = rewritten(source, fuse_elementwise, lower_to_winograd, device="gpu")
    assert [line.split(" window=")[0] for line in str(graph).splitlines()] == [
        "y/terms = tflgpu.winograd_input(x) size=(21,24)",
        "y/sums = tflgpu.winograd_product(y/terms, w)",
        "y = { t = tflgpu.winograd_output(y/sums, none, b) size=(21,24) | y = RELU6(t) }",
    ]
    assert [tensor.shape for tensor in graph.ops[2].reads[:1]] == [(1, 36, 36, 70)]


@pytest.mark.parametrize(
    ("value", "name", "reason"),
    [
        (conv(x(1, 21, 24, 63), (64, 63)), "gpu", "63 input and 64 output channels are too few"),
        (
            conv(x(1, 684, 683, 64), (64, 64)),
            "gpu",
            "its terms need 269485056 bytes, above the 134217728 of a buffer",
        ),
        (conv(x(1, 12, 40, 64), (64, 64)), "gpu", "30 squares of 4x4 outputs are too few"),
        (
            conv(x(1, 1, 128, 64), (64, 64)),
            "gpu",
            "most of each square of 4x4 outputs would be outside the image",
        ),
        (conv(x(1, 21, 24, 128), (128, 64)), "gpu", "the convolution is grouped or has a gate"),
        (conv(x(1, 48, 48, 64), (64, 64), **window("SAME", (2, 2))), "gpu", "the window has a"),
        (conv(x(1, 21, 24, 64), (64, 64)), "cpu", "winograd does all steps in one kernel"),
    ],
)
def test_it_declines(value: Value, name: str, reason: str) -> None:
    assert_declines(value, f"^{reason}", lower_to_winograd, device=name)


def test_half_precision_declines() -> None:
    value = call("RELU", conv(x(1, 21, 24, 64), (64, 64)))
    options = Options(device="gpu", precision="f16")
    compiled = pipeline.build(model({"y": value}).content, options)
    assert not any("winograd" in file for file in compiled.sources)
    (reason,) = (e.reason for e in compiled.events if e.rewrite == "lower_to_winograd")
    assert reason == "the intermediate sums would be stored in half precision"


def test_one_kernel_computes_all_steps_in_half_precision() -> None:
    """On processors it does so even if the weights are more than the terms, which it keeps."""
    value = call("RELU", conv(x(1, 14, 14, 128), (128, 128)))
    options = Options(device="cpu_avx512")
    half = replace(options, precision="f16")
    for each, alone in ((options, False), (half, True)):
        compiled = pipeline.build(model({"y": value}).content, each)
        assert any(file.endswith("winograd.cl") for file in compiled.sources) is alone
