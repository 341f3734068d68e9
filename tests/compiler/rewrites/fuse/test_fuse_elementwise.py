"""Elementwise operators in epilogues: chains, diamonds, broadcasts."""

from pathlib import Path

import pytest
from cases.convolutions import conv
from graphs import Value, call, ints, reshape, typed, w, x
from rewriting import assert_agrees, assert_becomes, kernels, operators, reasons, rewritten

from tflgpu.compiler.rewrites.fuse.fuse_elementwise import fuse_elementwise, fuse_second_output

CONV = "padding=VALID stride_h=1 stride_w=1"

DECLARATIONS = """
    input x float32[1,5,7,3]
    input r float32[1,5,7,11]
    input q float32[1,5,7,11]
    constant w float32[11,1,1,3]
    constant v float32[11,1,1,3]
    constant c float32[11]
"""


def pointwise(image: Value, outputs: int, inputs: int) -> Value:
    return conv(image, (outputs, inputs), (1, 1))


def image() -> Value:
    return pointwise(x(1, 5, 7, 3), 19, 3)


def silu() -> Value:
    value = image()
    return call("MUL", value, call("LOGISTIC", value))


def hard_swish() -> Value:
    value = image()
    gate = call("RELU6", call("ADD", value, w()))
    return call("MUL", call("MUL", value, gate), w())


def two_sided() -> Value:
    value = image()
    return call("SUB", call("TANH", value), call("RELU", value))


def residual() -> Value:
    value = image()
    return call("RELU", call("ADD", pointwise(value, 19, 19), value))


def squeeze_and_excite() -> Value:
    return call("MUL", image(), call("LOGISTIC", pointwise(x(1, 1, 1, 11), 19, 11)))


@pytest.mark.parametrize(
    ("operators", "expected"),
    [
        (
            f"t = CONV_2D(x, w) {CONV}\n a = ADD(t, r)\n d = SUB(c, a)\n y = RELU(d)",
            f"y = {{ t = CONV_2D(x, w) {CONV} | a = ADD(t, r) | d = SUB(c, a) | y = RELU(d) }}",
        ),
        (
            f"t = CONV_2D(x, w) {CONV}\n s = LOGISTIC(t)\n y = MUL(t, s)",
            f"y = {{ t = CONV_2D(x, w) {CONV} | s = LOGISTIC(t) | y = MUL(t, s) }}",
        ),
        (
            f"a = CONV_2D(x, w) {CONV}\n b = CONV_2D(x, v) {CONV}\n y = SUB(b, a)",
            f"a = CONV_2D(x, w) {CONV}\n y = {{ b = CONV_2D(x, v) {CONV} | y = SUB(b, a) }}",
        ),
    ],
    ids=["a chain", "a diamond", "the later of two producers"],
)
def test_elementwise_operators_become_an_epilogue(operators: str, expected: str) -> None:
    assert_becomes(f"{DECLARATIONS}\n {operators}\n output y", expected, fuse_elementwise)


def test_a_diamond_is_one_kernel() -> None:
    assert operators(silu()) == "CONV_2D  LOGISTIC  MUL"
    assert operators(silu(), fuse_elementwise) == "CONV_2D | LOGISTIC | MUL"
    assert operators(two_sided(), fuse_elementwise) == "CONV_2D | TANH | RELU | SUB"
    assert kernels(silu()) == 1
    assert kernels(two_sided()) == 1
    assert kernels(two_sided(), fuse_elementwise, fuse_second_output) == 4


def test_a_value_used_elsewhere_is_stored() -> None:
    assert operators(residual(), fuse_elementwise) == "CONV_2D  CONV_2D | ADD | RELU"
    value = image()
    both = [value, call("RELU", value)]
    assert reasons(both, fuse_elementwise) == ["the value is also used elsewhere"]


def test_what_no_epilogue_computes() -> None:
    view = reshape(call("CUMSUM", x(4, 9), ints(0)), 36)
    reason = "the kernels of RESHAPE have no epilogue"
    assert reasons(call("TANH", view), fuse_elementwise) == [reason]
    chosen = call("SELECT", typed("bool", "GREATER", x(7), w(7)), w(7), w(7))
    assert set(reasons(call("TANH", chosen), fuse_elementwise)) == {"not all tensors are float32"}


def test_a_value_that_broadcasts_is_stored() -> None:
    assert operators(squeeze_and_excite(), fuse_elementwise) in (
        "CONV_2D | MUL  CONV_2D | LOGISTIC",
        "CONV_2D | LOGISTIC  CONV_2D | MUL",
    )
    small = pointwise(x(1, 1, 1, 11), 11, 11)
    assert reasons(call("ADD", small, x(1, 5, 7, 11)), fuse_elementwise) == ["the value broadcasts"]


def test_a_kernel_needs_no_more_buffers_than_the_device_allows() -> None:
    source = f"""
        {DECLARATIONS}
        t = CONV_2D(x, w) {CONV}
        a = ADD(t, r)
        y = ADD(a, q)
        output y
    """
    _, events = rewritten(source, fuse_elementwise, device="gles31")
    assert [event.reason for event in events] == [
        None,
        "the kernel would need 5 buffers, but the device allows 4",
    ]


@pytest.mark.parametrize(
    "value",
    [silu(), hard_swish(), two_sided(), residual(), squeeze_and_excite()],
    ids=["silu", "hard swish", "two-sided", "residual", "squeeze-and-excite"],
)
def test_numbers_agree(value: Value, tmp_path: Path) -> None:
    assert_agrees(tmp_path, value, off=[fuse_elementwise])
