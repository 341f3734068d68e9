"""Convolutions by Winograd's algorithm as three operators."""

from __future__ import annotations

import pytest
from cases.convolutions import conv, window
from graphs import Value, call, model, x
from rewriting import rewritten

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.rewrites import PIPELINE
from tflgpu.compiler.rewrites.fuse.lower_to_winograd import lower_to_winograd


def test_the_steps_of_a_convolution() -> None:
    value = call("RELU6", conv(x(1, 21, 24, 64), (70, 64)))
    graph, _ = rewritten(value, *PIPELINE, device="gpu")
    lines = [line.split(" window=")[0] for line in str(graph).splitlines()]
    assert lines == [
        "y/terms = tflgpu.winograd_input(y/in0) size=(21,24)",
        "y/sums = tflgpu.winograd_product(y/terms, y/constant0/terms)",
        "y = { y/CONV_2D0.0 = tflgpu.winograd_output(y/sums, none, y/constant1) size=(21,24) "
        "| y = RELU6(y/CONV_2D0.0) }",
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
        (conv(x(1, 1, 128, 64), (64, 64)), "gpu", "squares of 4x4 outputs would mostly be empty"),
        (conv(x(1, 21, 24, 128), (128, 64)), "gpu", "the convolution is grouped or has a gate"),
        (conv(x(1, 48, 48, 64), (64, 64), **window("SAME", (2, 2))), "gpu", "the window has a"),
        (conv(x(1, 21, 24, 64), (64, 64)), "cpu", "conv_winograd does all steps in one kernel"),
    ],
)
def test_it_declines(value: Value, name: str, reason: str) -> None:
    _, events = rewritten(value, *PIPELINE, device=name)
    said = [event.reason for event in events if event.rule == lower_to_winograd.name]
    assert len(said) == 1 and said[0] is not None and said[0].startswith(reason)


def test_half_precision_stays_out_of_it() -> None:
    value = conv(x(1, 21, 24, 64), (64, 64))
    options = Options(device="gpu", precision="f16")
    files = pipeline.build(model({"y": value}).content, options).sources
    assert not any("winograd" in file for file in files)
