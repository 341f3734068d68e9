"""Indices out of bounds, for which LiteRT reports an error."""

from pathlib import Path

import numpy as np
import pytest
from agreement import run
from devices import Attached
from graphs import Value, call, ints, model, x, xi

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.ir import Array

TABLE = np.arange(6, dtype=np.float32).reshape(2, 3)


def computed(value: Value, inputs: list[Array], attached: Attached, folder: Path) -> Array:
    made = model({"y": value})
    options = Options(target=attached.target, device="gpu", fallback="none")
    given = dict(zip(made.inputs, inputs, strict=True))
    return run(pipeline.build(made.content, options), attached.device, folder, given)["y"]


@pytest.mark.parametrize("index", [-5, -1, 2, 2**31 - 1])
def test_gathered_indices_are_clamped(index: int, attached: Attached, tmp_path: Path) -> None:
    nearest = min(max(index, 0), 1)
    row = call("GATHER", x(2, 3), xi(1), axis=0, batch_dims=0)
    indices = np.array([index], np.int32)
    np.testing.assert_array_equal(
        computed(row, [TABLE, indices], attached, tmp_path)[0], TABLE[nearest]
    )
    element = call("GATHER_ND", x(2, 3), xi(1, 2))
    places = np.array([[index, index]], np.int32)
    expected = TABLE[nearest, min(max(index, 0), 2)]
    assert computed(element, [TABLE, places], attached, tmp_path / "nd")[0] == expected


@pytest.mark.parametrize("place", [(0, 3), (1, -1), (-1, 5), (2, 0), (0, 2**31 - 1)])
def test_updates_out_of_bounds_are_left_out(
    place: tuple[int, int], attached: Attached, tmp_path: Path
) -> None:
    value = call("SCATTER_ND", xi(2, 2), x(2), ints(2, 3))
    inputs = [np.array([place, (1, 1)], np.int32), np.array([7, 3], np.float32)]
    result = computed(value, inputs, attached, tmp_path)
    np.testing.assert_array_equal(result, [[0, 0, 0], [0, 3, 0]])
