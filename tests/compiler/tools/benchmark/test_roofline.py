"""Rooflines: the kernels that measure them, and what follows from the figures."""

from pathlib import Path

import numpy as np

from tflgpu.compiler import pipeline
from tflgpu.compiler.devices import profile
from tflgpu.compiler.language.language import GLSL
from tflgpu.compiler.target import Target
from tflgpu.compiler.tools.benchmark.roofline import (
    DISPATCHES,
    REPEATS,
    TURNS,
    Roofline,
    compile_dispatches,
    compile_roofline,
)
from tflgpu.runtime import load


def run_roofline(device: str, target: Target, cache: Path) -> None:
    """The kernels of the roofline compute what their counts of operations claim."""
    compiled = compile_roofline(target)
    random = np.random.default_rng(3)
    with load(pipeline.write(compiled, cache), device=device) as session:
        inputs = [random.uniform(0.2, 0.8, i.shape).astype(np.float32) for i in session.inputs]
        sums, *copies = session.run(inputs).values()
    factor, term = inputs[0][0, 0].astype(np.float64)
    arithmetic = compiled.plan.dispatches[0]
    chains = arithmetic.flops // (sums.size * TURNS * 2)
    # Long before the last turn a chain has reached the value it maps to itself.
    expected = np.broadcast_to(chains * term / (1 - factor), sums.shape)
    np.testing.assert_allclose(sums, expected, rtol=1e-4)
    for copied, original in zip(copies, inputs[1:], strict=True):
        np.testing.assert_array_equal(copied, original)
    assert len(compiled.plan.dispatches) == REPEATS * len(inputs)


def test_a_kernel_is_held_against_the_fastest_copy() -> None:
    """A kernel is held against the fastest copy of at least its size."""
    roofline = Roofline(100.0, ((8, 4.0), (16, 6.0), (32, 2.0)), 0.0)
    assert [roofline.bandwidth(moved) for moved in (1, 8, 9, 17, 33)] == [6.0, 6.0, 6.0, 2.0, 2.0]
    assert roofline.seconds(flops=1000, moved=6) == 10.0
    assert roofline.seconds(flops=10, moved=64) == 32.0


def test_the_kernels_of_the_roofline(opencl_device: str, tmp_path: Path) -> None:
    run_roofline(opencl_device, Target(profile("cpu_avx512")), tmp_path)


def test_the_kernels_of_the_roofline_in_glsl(opengl_device: str, tmp_path: Path) -> None:
    run_roofline(opengl_device, Target(profile("gles31"), GLSL), tmp_path)


def test_the_dispatches_are_many_and_small() -> None:
    target = Target(profile("gpu"))
    plan = compile_dispatches(target).plan
    assert len(plan.dispatches) == DISPATCHES
    # One group, of which one work-item does something.
    assert {dispatch.grid for dispatch in plan.dispatches} == {(target.device.warp, 1, 1)}
