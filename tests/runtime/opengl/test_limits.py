"""What OpenGL devices refuse, and what is said then."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from plans import SIZE, Parts, chain, kernel, shader

from tflgpu.runtime import BuildError, DeviceError, PlanError, load
from tflgpu.runtime.opengl.limits import Limits, exceeded_limit


def with_group(group: tuple[int, int, int], grid: tuple[int, int, int]) -> Parts:
    """The chain with its first kernel launched in other groups."""
    parts = chain(target="glsl")
    first, *kernels = parts.plan.kernels
    launch, *launches = parts.plan.dispatches
    return parts.replacing(
        kernels=(replace(first, group=group), *kernels),
        dispatches=(replace(launch, grid=grid), *launches),
    )


def test_limits_of_the_device(tmp_path: Path, opengl_device: str) -> None:
    """Nothing reaches the driver that is more than it says it takes."""
    with load(chain(target="glsl").write(tmp_path), device=opengl_device) as session:
        limits = session._opened().device._limits  # type: ignore[attr-defined]
    assert limits.group >= 128 and limits.buffers >= 4 and limits.shared_memory >= 16384
    assert min(limits.group_counts) >= 65535 and limits.block_size >= 1 << 24
    too_many = limits.group_counts[1] + 1
    if too_many < 1 << 31:
        parts = with_group((1, 1, 1), (1, too_many, 1))
        message = (
            rf"dispatch 0 \(ADD -> sum\) has {too_many} work-groups along y, but the limit is "
            rf"{limits.group_counts[1]}; compile the model for a device"
        )
        with pytest.raises(DeviceError, match=message):
            load(parts.write(tmp_path, "counts"), device=opengl_device)
    group = (limits.group_sizes[0] + 1, 1, 1)
    parts = with_group(group, group)
    with pytest.raises(DeviceError, match=rf"is ({limits.group}|{limits.group_sizes[0]});"):
        load(parts.write(tmp_path, "group"), device=opengl_device)


EXCESSES: dict[str, tuple[dict[str, Any], str]] = {
    "invocations": (
        {"group": 29},
        "kernels/000_add.comp has work-groups of 30 work-items, but the limit is 29",
    ),
    "group size": (
        {"group_sizes": (64, 2, 64)},
        "kernels/000_add.comp has work-groups of 3 work-items along y, but the limit is 2",
    ),
    "shared memory": (
        {"shared_memory": 255},
        "kernels/000_add.comp uses 256 bytes of shared memory, but this device has 255",
    ),
    "group count": (
        {"group_counts": (9, 9, 4)},
        "dispatch 0 (ADD -> sum) has 5 work-groups along z, but the limit is 4",
    ),
    "buffers": (
        {"buffers": 2},
        "dispatch 0 (ADD -> sum) has 3 storage buffers, but the limit is 2",
    ),
    "block size": (
        {"block_size": SIZE - 1},
        f"dispatch 0 (ADD -> sum) has a storage buffer of {SIZE} bytes, but the limit is "
        f"{SIZE - 1}",
    ),
}


@pytest.mark.parametrize("case", EXCESSES)
def test_limits(case: str) -> None:
    roomy = Limits(16, 1 << 20, 8, 1 << 15, 128, (64, 64, 64), (1 << 16,) * 3)
    plan = with_group((5, 3, 2), (5, 3, 10)).plan
    first, *others = plan.kernels
    plan = replace(plan, kernels=(replace(first, shared_memory=256), *others))
    assert exceeded_limit(plan, roomy) is None
    fields, message = EXCESSES[case]
    assert exceeded_limit(plan, replace(roomy, **fields)) == message


def test_misaligned(tmp_path: Path, opengl_device: str) -> None:
    parts = chain(target="glsl")
    first, *others = parts.plan.dispatches
    moved = replace(first.arguments[2], offset=4)
    first = replace(first, arguments=(*first.arguments[:2], moved))
    with pytest.raises(
        PlanError, match="has an argument at byte 4, but this device needs multiples"
    ):
        load(parts.replacing(dispatches=(first, *others)).write(tmp_path), device=opengl_device)


def test_build_error(tmp_path: Path, opengl_device: str) -> None:
    parts = chain(target="glsl")
    file = "kernels/001_scale.comp"
    source = shader("x weights y", "y[i] = nothing;")
    first, _, third = parts.plan.kernels
    parts = parts.replacing(kernels=(first, kernel("scale", file, source), third))
    with pytest.raises(BuildError) as caught:
        load(
            replace(parts, sources={**parts.sources, file: source}).write(tmp_path),
            device=opengl_device,
        )
    error = caught.value
    assert error.kernel == file
    assert "nothing" in error.log and "=====" not in error.log
    assert str(error).startswith(f"the driver's compiler rejected {file}:\n")
    number = source.splitlines().index("    y[i] = nothing;")
    assert error.source.splitlines()[number] == f"{number + 1:2} |     y[i] = nothing;"


def test_memory_that_is_not_there(tmp_path: Path, opengl_device: str) -> None:
    parts = chain(target="glsl").replacing(arena_size=1 << 40)
    with pytest.raises(DeviceError, match=f"GL_OUT_OF_MEMORY while allocating {1 << 40} bytes"):
        load(parts.write(tmp_path), device=opengl_device)
