"""Rows that are stored as integers are computed in slices, as those of floats are."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement import assert_litert, run
from cases.convolutions import window
from cases.quantized_layers import bias, weights
from devices import Way, need_lanes
from graphs import Model, ints, model, quantized, xq

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.devices import profile

DEVICE = "cpu_avx512_bytes"
KERNELS = ["elementwise_rows", "move_rows"]


def rows(dtype: str, zero: int, columns: int) -> Model:
    """Products whose axes change places, and what reads them."""
    scale, square = (100.0, 4e8) if dtype == "int16" else (0.4, 14.0)
    like: dict[str, Any] = {"dtype": dtype, "scale": scale, "zero": zero}
    operands = (xq(2, 3, 5, 7, columns, dtype=dtype, zero=zero) for _ in range(2))
    products = quantized("MUL", *operands, **like)
    turned = quantized("TRANSPOSE", products, ints(3, 1, 2, 0, 4), **like)
    sums = quantized("SUM", turned, ints(2), **like, keep_dims=False)
    some = quantized("GATHER", turned, ints(4, 0, 6, 6), **like, axis=0, batch_dims=0)
    wide = {**like, "scale": square}
    squares, chosen = (quantized("MUL", each, each, **wide) for each in (turned, some))
    return model({"sums": sums, "squares": squares, "chosen": chosen})


def kernels_that_agree(made: Model, device: str, folder: Path) -> str:
    """The files of a model's kernels, which compute the bits of LiteRT."""
    need_lanes(device, profile(DEVICE).slice_width)
    compiled = pipeline.build(made.content, Options(device=DEVICE, fallback="none"))
    found = run(compiled, device, folder, made.inputs)
    assert_litert(found, made, 0.0, kernels="XNNPACK")
    assert min(len(np.unique(each)) for each in found.values()) > 20
    return " ".join(kernel.file for kernel in compiled.plan.kernels)


@pytest.mark.parametrize("columns", [37, 48])
@pytest.mark.parametrize(("dtype", "zero"), [("int8", -7), ("uint8", 131), ("int16", 0)])
def test_they_have_the_bits_of_litert(
    dtype: str, zero: int, columns: int, opencl_device: str, tmp_path: Path
) -> None:
    files = kernels_that_agree(rows(dtype, zero, columns), opencl_device, tmp_path)
    assert [name for name in KERNELS if name in files] == KERNELS


def ends(dtype: str, zero: int, columns: int) -> Model:
    """Moves of a model's inputs to its outputs."""
    like: dict[str, Any] = {"dtype": dtype, "scale": 0.05, "zero": zero}
    image = xq(2, 5, 7, columns, dtype=dtype, zero=zero)
    rows = xq(2, 3, 5, 2, columns, dtype=dtype, zero=zero)
    return model(
        {
            "planes": quantized("TRANSPOSE", image, ints(0, 3, 1, 2), **like),
            "some": quantized("GATHER", rows, ints(2, 0, 2), **like, axis=1, batch_dims=0),
            "turned": quantized("TRANSPOSE", rows, ints(3, 1, 2, 0, 4), **like),
            "joined": quantized("CONCATENATION", rows, rows, **like, axis=4),
            "most": quantized("REDUCE_MAX", rows, ints(2), **like, keep_dims=False),
        }
    )


@pytest.mark.parametrize("columns", [37, 48])
@pytest.mark.parametrize(("dtype", "zero"), [("int8", -7), ("uint8", 131), ("int16", 0)])
def test_outputs_are_stored_in_slices(
    dtype: str, zero: int, columns: int, opencl_device: str, tmp_path: Path
) -> None:
    files = kernels_that_agree(ends(dtype, zero, columns), opencl_device, tmp_path)
    assert "_linear" not in files, files


def test_integers_of_whole_slices_become_floats_in_every_language(way: Way, tmp_path: Path) -> None:
    """OpenCL loads 16 bits, other languages whole words."""
    filters = weights((8, 3, 3, 16))
    operands = xq(1, 5, 7, 16, dtype="int16", zero=0), filters, bias(filters, 8, "int64")
    like: dict[str, Any] = {"dtype": "int16", "scale": 1.0, "quantized_bias_type": "int64"}
    made = model({"y": quantized("CONV_2D", *operands, **like, **window())})
    options = Options(target=way.target, device=way.profile, fallback="none")
    compiled = pipeline.build(made.content, options)
    found = run(compiled, way.device, tmp_path, made.inputs)
    assert_litert(found, made, 0.0)
    assert len(np.unique(found["y"])) > 100
