"""Consecutive layers on one vector; numbers are compared in tests/compiler/ops."""

import pytest
from cases.layers import layer, perceptron, squeezed
from graphs import Value, call, ints, x
from rewriting import kernels, operators, reasons, rewritten

from tflgpu.compiler.language.language import WGSL
from tflgpu.compiler.rewrites.fuse.fuse_elementwise import fuse_elementwise
from tflgpu.compiler.rewrites.fuse.fuse_fully_connected_chain import fuse_fully_connected_chain

PASSES = (fuse_elementwise, fuse_fully_connected_chain)


def test_squeeze_and_excite() -> None:
    value = squeezed(x(1, 7, 5, 19), 19)
    assert operators(value) == "MEAN  CONV_2D  RELU  CONV_2D  LOGISTIC"
    assert operators(value, *PASSES) == "tflgpu.fully_connected_chain | LOGISTIC"
    (op,) = rewritten(value, *PASSES)[0].ops
    assert [inner.name for inner in op.core] == ["MEAN", "CONV_2D", "RELU", "CONV_2D"]


def test_a_network_of_layers() -> None:
    value = perceptron(x(1, 37), 37, 5, 16, 3)
    assert operators(value, *PASSES) == "tflgpu.fully_connected_chain | HARD_SWISH"
    assert kernels(value) == 1


def test_reshapes_between_layers_are_removed() -> None:
    value = squeezed(x(1, 7, 5, 19), 19, keep=False)
    assert operators(value, *PASSES) == "tflgpu.fully_connected_chain | LOGISTIC"


def needed() -> list[Value]:
    first = layer(x(1, 1, 1, 19), 7, 19)
    return [first, layer(first, 5, 7)]


def residual() -> Value:
    """The vector between the layers is added to the result."""
    first = layer(x(1, 1, 1, 19), 7, 19)
    return call("ADD", layer(first, 7, 7), first)


def average(height: int, channels: int, *axes: int) -> Value:
    mean = call("MEAN", x(1, height, 16, channels), ints(*axes), keep_dims=True)
    return layer(mean, 3, channels)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (needed(), "y:0 is also used elsewhere"),
        (residual(), "y/CONV_2D0.0 is also used elsewhere"),
        (
            layer(call("LEAKY_RELU", layer(x(1, 1, 1, 19), 7, 19), alpha=0.25), 5, 7),
            "more than one unary elementwise operator is between the layers",
        ),
        (
            layer(call("MUL", layer(x(1, 1, 1, 19), 7, 19), x(7)), 5, 7),
            "more than one unary elementwise operator is between the layers",
        ),
        (
            perceptron(x(1, 512), 512, 256, 128),
            "163840 weights are faster with several work-groups",
        ),
        (average(257, 17, 1, 2), "averaging 69904 values is faster with several work-groups"),
        (
            layer(call("MEAN", x(1, 5, 1, 7), ints(1, 3), keep_dims=True), 3, 1),
            "the mean is not over all pixels, or it has an epilogue",
        ),
        (
            layer(call("MEAN", x(2, 3, 5, 7), ints(0, 1, 2), keep_dims=True), 3, 7),
            "the mean is over several images",
        ),
    ],
    ids=[
        "needed",
        "residual",
        "an attribute",
        "two operands",
        "large",
        "a large image",
        "all",
        "batch",
    ],
)
def test_it_declines(value: Value, reason: str) -> None:
    assert reasons(value, *PASSES)[-1] == reason


def test_few_means_are_kept_in_local_memory_that_is_cleared() -> None:
    (fused,) = rewritten(average(3, 128, 1, 2), *PASSES, device="webgpu", language=WGSL)[0].ops
    assert [inner.name for inner in fused.core] == ["MEAN", "CONV_2D"]
    graph, events = rewritten(average(3, 129, 1, 2), *PASSES, device="webgpu", language=WGSL)
    assert [op.name for op in graph.ops] == ["MEAN", "CONV_2D"]
    reason = "clearing local memory for 129 means takes longer than a kernel"
    assert [event.reason for event in events if event.reason] == [reason]
