"""Large images are reduced in several steps."""

from pathlib import Path

import pytest
from agreement import assert_litert, run
from cases.norms import layers
from graphs import Value, call, ints, model, number, typed, w, x, xi
from rewriting import assert_agrees, assert_becomes, assert_declines, rewritten

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.rewrites.fuse.split_large import split_reduction

ONCE = {"padding": "SAME", "stride_w": 1, "stride_h": 1, "filter_width": 1, "filter_height": 1}


def reduced(name: str, shape: tuple[int, ...], *axes: int, keep: bool = True) -> Value:
    return call(name, x(*shape), ints(*axes), keep_dims=keep)


def test_parts_of_an_image_then_the_image_then_its_channels() -> None:
    graph = assert_becomes(
        reduced("SUM", (1, 384, 384, 8), 1, 2, 3),
        """
        y/parts = RESHAPE(y/in0) new_shape=(1,72,2048,8)
        y/step_0 = SUM(y/parts, y/axes_0) keep_dims=True
        y/step_1 = SUM(y/step_0, y/axes_1) keep_dims=True
        y = SUM(y/step_1, y/axes_2) keep_dims=True
        """,
        split_reduction,
        device="gpu",
    )
    shapes = [list(op.output.shape) for op in graph.ops]
    assert shapes == [[1, 72, 2048, 8], [1, 1, 2048, 8], [1, 1, 1, 8], [1, 1, 1, 1]]


def test_many_channels_keep_the_device_busy() -> None:
    """The image is reduced whole, then its channels."""
    assert_becomes(
        reduced("MEAN", (1, 7, 7, 512), 1, 2, 3),
        """
        y/step_0 = MEAN(y/in0, y/axes_0) keep_dims=True
        y = MEAN(y/step_0, y/axes_1) keep_dims=True
        """,
        split_reduction,
        device="gpu",
    )


def test_volumes_are_seen_as_images() -> None:
    """Mesa would end the loop of a single work-item over 131072 values."""
    assert_becomes(
        reduced("MEAN", (2, 8, 128, 128, 4), 1, 2, 3, keep=False),
        """
        y/images = RESHAPE(y/in0) new_shape=(2,131072,1,4)
        y/reduced = MEAN(y/images, y/pixels) keep_dims=True
        y = RESHAPE(y/reduced) new_shape=(2,4)
        """,
        split_reduction,
        device="llvmpipe",
    )


def test_it_declines() -> None:
    many = reduced("MEAN", (1, 64, 64, 512), 1, 2)
    assert_declines(many, "it has enough work-items as it is", split_reduction, device="gpu")
    most = reduced("REDUCE_MAX", (1, 384, 384, 8), 1, 2, 3)
    assert_declines(most, "NaN counts by its place", split_reduction, device="gpu")


@pytest.mark.parametrize(
    ("value", "device"),
    [
        (reduced("MEAN", (1, 384, 384, 8), 1, 2), "cpu_avx512"),
        (reduced("MEAN", (1, 56, 56, 16), 1, 2), "gpu"),
        (reduced("SUM", (1, 384, 384, 8), 1, 2, 3, keep=False), "gpu"),
        (reduced("SUM", (1, 384, 384, 8), 2), "gpu"),
        (reduced("SUM", (9, 384, 384), 1, 2), "gpu"),
        (typed("int32", "SUM", xi(1, 384, 384, 8), ints(1, 2), keep_dims=True), "gpu"),
    ],
    ids=["processor", "small", "dropped axes", "rows", "three axes", "integers"],
)
def test_it_does_not_concern_others(value: Value, device: str) -> None:
    graph, events = rewritten(value, split_reduction, device=device)
    assert (len(graph.ops), events) == (1, [])


def test_split_reductions_give_the_same_numbers(tmp_path: Path) -> None:
    shape = (1, 192, 120, 3)
    relu = call("RELU", reduced("SUM", shape, 1, 2, 3))
    least = reduced("REDUCE_MIN", shape, 1, 2, 3)
    norm = layers(x(1, 192, 120, 3), (1, 2), w(3), w(3))
    assert_agrees(tmp_path, reduced("MEAN", shape, 1, 2), least, relu, norm)


def test_sums_beyond_half_precision(opencl_device: str, tmp_path: Path) -> None:
    """Images stored in half are added up, and normalized, in single precision."""
    # An operator before them, so that the images are stored as slices.
    low = call("MAX_POOL_2D", call("MUL", x(1, 384, 384, 8), number(50.0)), **ONCE)
    high = call("MAX_POOL_2D", call("MUL", x(1, 384, 384, 8), number(100.0)), **ONCE)
    total = call("SUM", call("MUL", low, low), ints(1, 2), keep_dims=True)
    small, norm = call("MUL", total, number(1e-6)), layers(high, (1, 2), w(8), w(8))
    made = model({"y": small, "z": norm})
    options = Options(device="nvidia", precision="f32_f16", fallback="none")
    compiled = pipeline.build(made.content, options)
    assert any("step_0" in tensor.name for tensor in compiled.plan.tensors)
    assert_litert(run(compiled, opencl_device, tmp_path, made.inputs), made, 1e-2)
