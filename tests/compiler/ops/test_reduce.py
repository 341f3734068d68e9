"""Reductions of images in slices by whole work-groups, and of rows in slices."""

from pathlib import Path

import numpy as np
import pytest
from agreement import assert_litert, run
from cases.convolutions import conv, window
from cases.quantized_layers import weights
from graphs import call, ints, model, number, typed, w, x

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.devices import profile
from tflgpu.compiler.ir import Op, Tensor
from tflgpu.compiler.ops import OPS
from tflgpu.compiler.ops.base.launch import Launch
from tflgpu.compiler.ops.reduce.extremes import ROW_SCALES
from tflgpu.compiler.target import Target


@pytest.mark.parametrize("place", [(0, 0), (7, 11), (15, 15)])
@pytest.mark.parametrize("operator", ["REDUCE_MAX", "REDUCE_MIN", "MEAN"])
def test_nan_counts_by_its_place(
    operator: str, place: tuple[int, int], opencl_device: str, tmp_path: Path
) -> None:
    """Of the largest and the smallest, what comes before NaN is lost; sums are NaN."""
    image = conv(x(1, 16, 16, 3), (8, 3), (1, 1))
    made = model({"y": call(operator, image, ints(1, 2), keep_dims=True)})
    inputs = {name: array.copy() for name, array in made.inputs.items()}
    for array in inputs.values():
        array[0, place[0], place[1]] = np.nan
    compiled = pipeline.build(made.content, Options(device="gpu", fallback="none"))
    assert_litert(run(compiled, opencl_device, tmp_path, inputs), made, inputs=inputs)


@pytest.mark.parametrize("operator", ["REDUCE_MAX", "REDUCE_MIN", "MEAN"])
def test_nan_counts_by_its_place_across_rows(
    operator: str, opencl_device: str, tmp_path: Path
) -> None:
    made = model({"y": call(operator, x(3, 7, 32), ints(1), keep_dims=False)})
    inputs = {name: array.copy() for name, array in made.inputs.items()}
    for array in inputs.values():
        for column in range(7):
            array[1, column, 5 + column] = np.nan
    compiled = pipeline.build(made.content, Options(device="cpu_avx512", fallback="none"))
    assert "_columns" in compiled.plan.kernels[0].file
    assert_litert(run(compiled, opencl_device, tmp_path, inputs), made, inputs=inputs)


@pytest.mark.parametrize(("columns", "walk"), [(3, "elements"), (16, "rows"), (37, "rows")])
def test_slices_lie_within_the_row_whose_scale_they_give(columns: int, walk: str) -> None:
    """What is in front of a row may be another tensor, of which this one is a part."""
    outputs = (Tensor("scales", (24, 1)), Tensor("points", (24, 1)))
    op = Op(ROW_SCALES, (Tensor("x", (24, columns)),), outputs, {"axes": (1,)})
    launch = OPS[ROW_SCALES].implementations[-1].build(op, Target(profile("cpu_avx512")))
    assert isinstance(launch, Launch)
    assert launch.variables["walk"] == f"reduce/{walk}.jinja"


@pytest.mark.parametrize("operator", ["ARG_MAX", "ARG_MIN"])
@pytest.mark.parametrize(("size", "kernel"), [(15, "arg_reduce"), (37, "arg_reduce_sliced_rows")])
def test_places_in_rows_are_found_by_slices(operator: str, size: int, kernel: str) -> None:
    value = typed("int32", operator, x(5, size), number(1, "int32"), output_type="int32")
    options = Options(device="cpu_avx512", fallback="none")
    plan = pipeline.build(model({"y": value}).content, options).plan
    assert plan.kernels[0].file.endswith(f"_{kernel}.cl")


@pytest.mark.optimized
@pytest.mark.parametrize("name", ["REDUCE_MAX", "REDUCE_MIN"])
@pytest.mark.parametrize("channels", [64, 5])
def test_intel_s_compiler_ends_with_extremes_along_two_axes(
    name: str, channels: int, opencl_device: str, tmp_path: Path
) -> None:
    """Nor does it with 8 rounds of 32 there, row-major or in columns, unless loops are kept."""
    made = model({"y": call(name, x(8, 3, 32, channels), ints(0, 2), keep_dims=True)})
    compiled = pipeline.build(made.content, Options(device="cpu_avx512", fallback="none"))
    (source,) = compiled.sources.values()
    assert source.count("#pragma unroll 1\n") == source.count("for (") == 2
    found = run(compiled, opencl_device, tmp_path, made.inputs)
    assert_litert(found, made, 0.0)


@pytest.mark.optimized
def test_intel_s_compiler_ends_with_extremes_of_images(opencl_device: str, tmp_path: Path) -> None:
    """With 8 rounds of 32 minima, unrolled, it does not, so that loops are kept."""
    pool = {"padding": "SAME", "filter_height": 3, "filter_width": 3, "stride_h": 1, "stride_w": 1}
    image = call("MAX_POOL_2D", x(1, 8, 8, 64), **pool)
    made = model({"y": call("CONV_2D", image, weights((5, 3, 3, 64)), w(5), **window())})
    compiled = pipeline.build(made.content, Options(device="cpu_avx512", fallback="none"))
    (source,) = (text for file, text in compiled.sources.items() if file.endswith("extremes.cl"))
    loops = [f"#pragma unroll 1 for (int {n} = 0; {n} < " for n in ("ry", "rx", "s")]
    assert [" ".join(source.split()).count(loop) for loop in loops] == [1, 1, 1]
    found = run(compiled, opencl_device, tmp_path, made.inputs)
    assert_litert(found, made, 1e-6, kernels="XNNPACK")
