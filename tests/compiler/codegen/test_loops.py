"""A driver ends long loops: those of all kernels are counted, and what is too long is on LiteRT."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from agreement import assert_litert, run
from graphs import Value, call, ints, largest, model, number, typed, x, xi

import tflgpu
from tflgpu.compiler import CompiledModel, Options, UnsupportedError, pipeline
from tflgpu.compiler.codegen.rendering.control import head, vocabulary
from tflgpu.compiler.language.expression import Expression, Name, Number
from tflgpu.compiler.language.statement import If, Statement, Statements, While, body
from tflgpu.compiler.options import TargetName
from tflgpu.compiler.pipeline import target_of
from tflgpu.runtime import PlanError

SHORT, LONG = 64999, 65537
Fallback = Literal["litert", "none"]
ALONG_ROWS = {"keep_dims": True}


def product(size: int) -> Value:
    return call("BATCH_MATMUL", x(2, size), x(size, 3), adj_x=False, adj_y=False)


def sums(size: int) -> Value:
    along = number(1, "int32")
    return call("CUMSUM", x(2, size), along, exclusive=False, reverse=False)


def place(size: int) -> Value:
    return typed("int32", "ARG_MAX", x(2, size), number(1, "int32"), output_type="int32")


def pool(size: int) -> Value:
    window = {"padding": "VALID", "stride_w": 1, "stride_h": 1, "filter_height": 1}
    return call("AVERAGE_POOL_2D", x(1, 1, size + 8, 4), filter_width=size, **window)


def total(size: int) -> Value:
    return typed("int32", "SUM", xi(2, size, 3), ints(1), **ALONG_ROWS)


def compiled(value: Value, fallback: Fallback, device: str = "llvmpipe") -> CompiledModel:
    options = Options(target="glsl", device=device, fallback=fallback)
    return pipeline.build(model({"y": value}).content, options)


@pytest.mark.parametrize("kind", [product, sums, place, pool, total])
def test_too_many_iterations(kind: Callable[[int], Value]) -> None:
    assert compiled(kind(SHORT), "none").plan.dispatches
    assert compiled(kind(LONG), "none", "gpu").plan.dispatches
    with pytest.raises(UnsupportedError, match=r"655\d\d"):
        compiled(kind(LONG), "none")


def loop(rounds: int, *inner: Statement) -> Statement:
    (found,) = head("i", rounds).over(body(*inner), "").items
    return found


def test_inner_loops_count_each_time() -> None:
    """Compilers write out short ones; neighbouring work-items may take different branches."""
    either = If(Name("a") < 1, body(loop(5)), body(loop(7)))
    assert body(loop(10), loop(20, loop(30))).iterations == 10 + 20 * 31
    assert body(loop(100, loop(4)), loop(4, loop(5))).iterations == 100 + 4 * 6
    assert body(loop(2, either), While(Name("a") < 1, body())).iterations == 2 * 13 + 32


def test_templates_say_how_long_a_range_is_if_numbers_do_not() -> None:
    assert head("i", Name("gx"), Number(100), 8).most == 13
    assert head("i", Name("y0"), Name("y1"), long=7).most == 7
    with pytest.raises(TypeError, match="does not say how `long` it is"):
        head("i", Name("y0"), Name("y1")).over(body(), "")


def printed(*values: Value) -> str:
    """The kernels of a model in OpenCL C, one after the other."""
    content = model({f"y{number}": value for number, value in enumerate(values)}).content
    sources = pipeline.build(content, Options(target="opencl", device="gpu")).sources
    return "\n".join(sources.values())


def test_a_work_item_with_a_single_round_has_no_loop() -> None:
    """Work-items that share a line start below the step, which is the size of the group."""

    def mean(size: int) -> str:
        return printed(call("MEAN", x(3, size), number(1, "int32"), **ALONG_ROWS))

    assert "total += x[gy * 64 + gx];" in mean(64)
    assert "for (int i1 = gx; i1 < 96; i1 += 64)" in mean(96)
    assert "for (int stride = 32; stride > 0; stride /= 2) {" in mean(64)


@pytest.mark.parametrize(
    ("channels", "slices"),
    [(10, [("s", 4), ("2", 2)]), (8, [("s", 4)]), (4, [("0", 4)]), (3, [("0", 3)])],
)
def test_the_last_slice_of_channels_stands_apart(
    channels: int, slices: list[tuple[str, int]]
) -> None:
    seen = []

    def lanes(slice: Expression, count: int) -> Statements:
        seen.append((str(slice), count))
        return body()

    vocabulary(target_of(Options(device="gpu")))["by_slices"]("s", channels, caller=lanes)
    assert seen == slices


def test_a_condition_that_always_holds_is_left_out() -> None:
    def sort(size: int) -> str:
        return printed(*largest(x(1, size), size))

    assert "if (own < " not in sort(2048)
    assert "if (own < 2047)" in sort(2047)


def check(value: Value, fallback: Fallback, device: str, folder: Path) -> CompiledModel:
    made, found = model({"y": value}), compiled(value, fallback)
    assert_litert(run(found, device, folder, made.inputs), made)
    return found


def test_they_run_on_litert(tmp_path: Path, opengl_device: str) -> None:
    (finding,) = check(sums(LONG), "litert", opengl_device, tmp_path).fallback
    reason = "the loops of CUMSUM may take 65537 iterations, but the driver ends them after 65000"
    assert (finding.operator, finding.reason) == ("CUMSUM", reason)


def refused(value: Value, target: TargetName, name: str, folder: Path) -> None:
    """A driver that ends its loops does not run what was compiled for drivers that end none."""
    options = Options(target=target, fallback="none")
    cache = pipeline.write(pipeline.build(model({"y": value}).content, options), folder)
    with pytest.raises(PlanError, match="its loops may take 65537 iterations, but the limit of"):
        tflgpu.load(cache, device=name)


def test_kernels_for_other_drivers_are_refused(tmp_path: Path, opengl_device: str) -> None:
    if "llvmpipe" not in opengl_device:
        pytest.skip("only llvmpipe ends loops")
    refused(sums(LONG), "glsl", opengl_device, tmp_path)


def test_so_they_are_by_webgpu(tmp_path: Path, webgpu_device: str) -> None:
    if "llvmpipe" not in webgpu_device:
        pytest.skip("only llvmpipe ends loops")
    refused(sums(LONG), "wgsl", webgpu_device, tmp_path)


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((1, 70001, 3), (1,)),
        ((2, 70001, 1, 3), (1, 2)),
        ((3, 264001), (1,)),
        ((130, 65003), (1,)),
        ((2, 2, 65536), (1, 2)),
        ((2, 8, 128, 128, 4), (1, 2, 3)),
        ((8, 128, 128, 4), (0, 1, 2)),
    ],
)
def test_work_items_reduce_long_lines_together(
    tmp_path: Path, opengl_device: str, shape: tuple[int, ...], axes: tuple[int, ...]
) -> None:
    """Also such that cannot be divided into parts of equal size."""
    check(
        call("MEAN", x(*shape, draw="positive"), ints(*axes), **ALONG_ROWS),
        "none",
        opengl_device,
        tmp_path,
    )
