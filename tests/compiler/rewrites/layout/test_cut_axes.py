"""Transposes around a reshape that cuts their axes."""

from pathlib import Path

from graphs import Value, call, reshape, transpose, x
from rewriting import assert_agrees, assert_becomes, assert_declines, kernels

from tflgpu.compiler.rewrites.layout.around_reshapes import cut_axes


def pixel_shuffle(batches: int, channels: int, height: int, width: int, n: int) -> Value:
    """As PyTorch's converter writes it: channels first, a transpose of rank 4 for each axis."""
    image = call("ABS", x(batches, height, width, channels * n * n))
    first = transpose(image, 0, 3, 1, 2)
    rows = batches * channels
    columns = transpose(reshape(first, rows, n, n, height * width), 0, 1, 3, 2)
    apart = transpose(reshape(columns, rows, n, height, width * n), 0, 2, 1, 3)
    whole = reshape(apart, batches, channels, height * n, width * n)
    return call("TANH", transpose(whole, 0, 2, 3, 1))


def test_all_parts_move_at_once() -> None:
    source = """
        input x float32[54,3,2,2]
        constant first int32[4] = 1, 2, 0, 3
        constant second int32[4] = 2, 1, 3, 0
        t = TRANSPOSE(x, first)
        r = RESHAPE(t) new_shape=(3,2,6,18)
        y = TRANSPOSE(r, second)
        output y
    """
    expected = """
        y/cut = RESHAPE(x) new_shape=(6,9,3,2,2)
        y/moved = TRANSPOSE(y/cut, y/order)
        y = RESHAPE(y/moved) new_shape=(6,2,18,3)
    """
    graph = assert_becomes(source, expected, cut_axes)
    assert graph.ops[1].constant(1).tolist() == [0, 3, 1, 4, 2]


def test_a_pixel_shuffle_is_one_move() -> None:
    shuffled = pixel_shuffle(1, 3, 5, 7, 2)
    assert kernels(shuffled) == kernels(shuffled, cut_axes) - 1


def test_what_stays() -> None:
    torn = reshape(transpose(x(4, 6, 5), 1, 0, 2), 4, 6, 5)
    reason = "^the reshape merges parts of different axes of the transpose before it$"
    assert_declines(transpose(torn, 1, 0, 2), reason, cut_axes)


def test_values_agree(tmp_path: Path) -> None:
    values = [
        pixel_shuffle(1, 3, 5, 7, 2),
        pixel_shuffle(2, 16, 3, 5, 3),
        transpose(reshape(transpose(x(12, 5, 1, 7), 2, 3, 0, 1), 7, 3, 4, 1, 5), 2, 4, 3, 0, 1),
        transpose(reshape(transpose(x(6, 35), 1, 0), 5, 7, 2, 3), 3, 1, 0, 2),
    ]
    assert_agrees(tmp_path, *values, off=[cut_axes])
