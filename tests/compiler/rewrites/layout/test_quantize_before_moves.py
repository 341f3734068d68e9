"""Floats that are quantized before they are repeated."""

from pathlib import Path

from graphs import Value, call, ints, quantized, table, x
from rewriting import assert_agrees, assert_declines, compiled, operators

from tflgpu.compiler.rewrites.layout.quantize_before_moves import quantize_before_moves
from tflgpu.compiler.rewrites.quantized.lower_quantized import lower_quantized


def enlarged(image: Value) -> Value:
    resize = {"align_corners": False, "half_pixel_centers": False}
    twice = call("RESIZE_NEAREST_NEIGHBOR", image, ints(26, 18), **resize)
    around = table((0, 0), (1, 1), (2, 2), (0, 0))
    return quantized("QUANTIZE", call("MIRROR_PAD", twice, around, mode="REFLECT"), scale=0.02)


NETWORK = enlarged(call("TANH", x(1, 13, 9, 7)))


def test_all_moves_are_behind_it() -> None:
    before = "TANH  RESIZE_NEAREST_NEIGHBOR  MIRROR_PAD  tflgpu.quantize  tflgpu.from_centered"
    after = "TANH  tflgpu.quantize  RESIZE_NEAREST_NEIGHBOR  MIRROR_PAD  tflgpu.from_centered"
    assert operators(NETWORK, lower_quantized) == before
    assert operators(NETWORK, lower_quantized, quantize_before_moves) == after


def test_the_arena_holds_bytes() -> None:
    small, large = (
        compiled(NETWORK, "gpu", *off).plan.memory.planned for off in ((), (quantize_before_moves,))
    )
    assert small < large / 3


def test_inputs_are_left_alone() -> None:
    source = quantized("QUANTIZE", call("TILE", x(1, 13, 9, 7), ints(1, 1, 2, 1)))
    reason = "no kernel computes the floats"
    assert_declines(source, reason, lower_quantized, quantize_before_moves)


def test_bits_agree(tmp_path: Path) -> None:
    assert_agrees(tmp_path, NETWORK, off=[quantize_before_moves])
