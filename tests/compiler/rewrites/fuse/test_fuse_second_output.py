"""Kernels that store a value both before and after an elementwise operator."""

from pathlib import Path

import pytest
from graphs import Value, call, ints, w, x
from rewriting import assert_agrees, compiled, kernels, operators, reasons, rewritten

from tflgpu.compiler.rewrites.fuse.fuse_elementwise import fuse_elementwise, fuse_second_output

PASSES = (fuse_elementwise, fuse_second_output)
STEPS = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
POOL = {"padding": "VALID", "filter_height": 2, "filter_width": 2, "stride_h": 2, "stride_w": 2}


def conv(image: Value, outputs: int, inputs: int) -> Value:
    return call("CONV_2D", image, w(outputs, 1, 1, inputs), w(outputs), **STEPS)


def activated() -> list[Value]:
    """The raw value is pooled, as in MediaPipe's hand models."""
    value = conv(x(1, 6, 8, 3), 19, 3)
    return [conv(call("PRELU", value, w(1, 1, 19)), 7, 19), call("MAX_POOL_2D", value, **POOL)]


def summed() -> list[Value]:
    """The value stored early is the second of three; an input is added after it."""
    image = x(1, 6, 8, 19)
    value = call("EXP", conv(image, 19, 19))
    return [call("MAX_POOL_2D", value, **POOL), conv(call("ADD", value, image), 5, 19)]


def rows() -> list[Value]:
    """Row-major values of rank 5."""
    value = call("EXP", x(1, 2, 3, 2, 5))
    return [call("SUM", value, ints(4)), call("SUM", call("TANH", value), ints(2))]


def centered() -> Value:
    """What is subtracted follows from the value itself."""
    value = conv(x(1, 5, 7, 3), 19, 3)
    return conv(call("SUB", value, call("MEAN", value, ints(1, 2), keep_dims=True)), 5, 19)


def test_the_value_is_stored_twice() -> None:
    assert operators(activated(), *PASSES) == "CONV_2D | PRELU  CONV_2D  MAX_POOL_2D"
    for value, position in ((activated(), 0), (summed(), 1)):
        (op,) = (op for op in rewritten(value, *PASSES)[0].ops if op.early_outputs)
        assert op.early_outputs == op.ops[position].outputs
    for value in (activated(), summed(), rows()):
        assert kernels(value, fuse_second_output) - kernels(value) == 1


def test_buffers_are_as_few_as_the_profile_says() -> None:
    most = [
        max(len(dispatch.arguments) for dispatch in compiled(value, "gles31").plan.dispatches)
        for value in (activated(), summed())
    ]
    assert most == [4, 3]


def test_it_declines() -> None:
    assert reasons(centered(), fuse_second_output) == [
        "another operand may not be computed before the kernel runs"
    ]
    assert reasons(call("EXP", conv(x(1, 5, 7, 3), 19, 3)), fuse_second_output) == []


@pytest.mark.parametrize(
    "value", [activated(), summed(), rows()], ids=["activated", "summed", "rows"]
)
def test_numbers_agree(value: list[Value], tmp_path: Path) -> None:
    assert_agrees(tmp_path, value, off=[fuse_second_output])
