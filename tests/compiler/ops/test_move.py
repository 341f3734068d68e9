"""Transposes of row-major tensors that store slices at once."""

from pathlib import Path

import pytest
from agreement import assert_litert, run
from cases.convolutions import window
from devices import Way
from graphs import Value, call, model, transpose, w, x

from tflgpu.compiler import Options, pipeline

MOVED: dict[str, Value] = {"TRANSPOSE": transpose(x(2, 19, 7, 5), 0, 2, 3, 1)}


@pytest.mark.parametrize("operator", MOVED)
def test_row_major_tensors_are_moved_into_slices(operator: str, way: Way, tmp_path: Path) -> None:
    made = model({"y": call("CONV_2D", MOVED[operator], w(8, 1, 1, 19), w(8), **window())})
    options = Options(target=way.target, device="gpu", fallback="none")
    compiled = pipeline.build(made.content, options)
    assert any("move_from_linear" in kernel.file for kernel in compiled.plan.kernels)
    assert_litert(run(compiled, way.device, tmp_path, made.inputs), made)
