"""Plans and kernels that a device cannot run: what is said of them, and what is none of it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from devices import Attached
from plans import ADD, Opener, broken, chain, copy, kernel, misaligned, pair

from tflgpu.runtime import BuildError, DeviceError, PlanError, load
from tflgpu.runtime.opencl import find
from tflgpu.runtime.plan.records import Dispatch, Region, TensorInfo

pytestmark = pytest.mark.shared


def test_a_misaligned_plan_is_refused(tmp_path: Path, attached: Attached) -> None:
    message = (
        r"its arguments start at multiples of 4 bytes, but this device needs multiples of \d+; "
        "compile the model for this device"
    )
    with pytest.raises(PlanError, match=message):
        load(misaligned(attached.target).write(tmp_path), device=attached.device)


def test_group_too_large(tmp_path: Path, opencl_device: str) -> None:
    parts = chain()
    first, *others = parts.plan.kernels
    group = (1, 1, 65536)
    launch = replace(parts.plan.dispatches[0], grid=group)
    parts = parts.replacing(
        kernels=(replace(first, group=group), *others),
        dispatches=(launch, *parts.plan.dispatches[1:]),
    )
    with pytest.raises(PlanError, match="it has work-groups of 65536 work-items, but the limit"):
        load(parts.write(tmp_path), device=opencl_device)


def test_arena_too_large(tmp_path: Path, opencl_device: str) -> None:
    size = find.select_device(opencl_device).limits.buffer_size + 1
    with pytest.raises(
        PlanError, match=f"it has buffers of {size} bytes, but the limit of this device"
    ):
        load(chain().replacing(arena_size=size).write(tmp_path), device=opencl_device)


def test_a_plan_for_another_target_is_refused(tmp_path: Path, opencl_device: str) -> None:
    parts = copy(TensorInfo("x", (3,), "float32")).replacing(
        target="glsl", kernels=(), dispatches=()
    )
    with pytest.raises(DeviceError, match="the model was compiled for glsl"):
        load(replace(parts, sources={}).write(tmp_path), device=opencl_device)


def test_a_kernel_that_does_not_compile_is_named(tmp_path: Path, attached: Attached) -> None:
    parts = broken(attached.target)
    with pytest.raises(BuildError) as caught:
        load(parts.write(tmp_path), device=attached.device)
    error, (_, file, _) = caught.value, parts.sources
    assert error.kernel == file
    assert "nothing" in error.log and "=====" not in error.log and "parsing" not in error.log
    assert str(error).startswith(f"the driver's compiler rejected {file}:\n")
    lines = parts.sources[file].splitlines()
    (place,) = (number for number, line in enumerate(lines) if "nothing" in line)
    number, _, line = error.source.splitlines()[place].partition(" | ")
    assert (int(number), line) == (place + 1, lines[place])


def test_wrong_number_of_arguments(tmp_path: Path, opencl_device: str) -> None:
    parts = chain()
    kernel, *kernels = parts.plan.kernels
    first, *others = parts.plan.dispatches
    shorter = replace(first, arguments=first.arguments[1:])
    parts = parts.replacing(
        kernels=(replace(kernel, parameters=2), *kernels), dispatches=(shorter, *others)
    )
    folder = parts.write(tmp_path)
    with pytest.raises(
        DeviceError, match="add has 3 parameters, but the plan passes 2 arguments; compile"
    ):
        load(folder, device=opencl_device)


def test_missing_entry_point(tmp_path: Path, opencl_device: str) -> None:
    parts = chain()
    first, *others = parts.plan.kernels
    folder = parts.replacing(kernels=(replace(first, name="plus"), *others)).write(tmp_path)
    with pytest.raises(DeviceError, match=r"with INVALID_KERNEL_NAME while binding .* of plus"):
        load(folder, device=opencl_device)


def test_remarks_of_the_compiler_are_no_warnings(opened: Opener) -> None:
    parts = chain()
    file = "kernels/000_add.cl"
    source = "#warning remark\n" + ADD
    _, *others = parts.plan.kernels
    changed = parts.replacing(kernels=(kernel("add", file, source), *others))
    a, b = pair()
    with opened(replace(changed, sources={**parts.sources, file: source})) as session:
        session.run([a, b])
        np.testing.assert_allclose(session.read("sum"), a + b, rtol=1e-6)


@pytest.mark.parametrize("clash", ["function", "entry point"])
def test_files_that_clash(opened: Opener, clash: str) -> None:
    """Two files that cannot be compiled together are compiled apart."""
    names = ("twice", "twice") if clash == "entry point" else ("first", "second")
    sources = {
        f"kernels/{factor}.cl": f"""
float times(float v) {{ return {factor}.0f * v; }}
__kernel void {name}(__global const float* x, __global float* y) {{
    y[get_global_id(0)] = times(x[get_global_id(0)]);
}}
"""
        for factor, name in zip((3, 5), names, strict=True)
    }
    parts = copy(TensorInfo("x", (7,), "float32"))
    x, y = parts.plan.dispatches[0].arguments
    middle = replace(y, region=Region.ARENA)
    steps = [(x, middle), (replace(middle, writes=False), y)]
    parts = parts.replacing(
        arena_size=28,
        kernels=tuple(
            kernel(name, file, sources[file]) for name, file in zip(names, sources, strict=True)
        ),
        dispatches=tuple(
            Dispatch(index, (7, 1, 1), arguments, "times", (), 0)
            for index, arguments in enumerate(steps)
        ),
    )
    data = np.arange(1, 8, dtype=np.float32)
    with opened(replace(parts, sources=sources)) as session:
        np.testing.assert_array_equal(session.run(data)["y"], 15 * data)
