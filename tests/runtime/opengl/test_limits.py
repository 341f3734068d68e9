"""What OpenGL devices refuse, and what is said then."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from plans import Parts, chain, chain_result, pair

from tflgpu.runtime import DeviceError, PlanError, load


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
        limits = session.device.limits
    assert limits.group >= 128 and limits.arguments >= 4 and limits.local_memory >= 16384
    assert min(limits.group_counts) >= 65535 and limits.argument_size >= 1 << 24
    too_many = limits.group_counts[1] + 1
    if too_many < 1 << 31:
        parts = with_group((1, 1, 1), (1, too_many, 1))
        message = (
            f"it launches {too_many} work-groups along y, but the limit of this device is "
            f"{limits.group_counts[1]}; compile the model for this device"
        )
        with pytest.raises(PlanError, match=message):
            load(parts.write(tmp_path, "counts"), device=opengl_device)
    group = (limits.group_sizes[0] + 1, 1, 1)
    parts = with_group(group, group)
    with pytest.raises(PlanError, match=rf"is ({limits.group}|{limits.group_sizes[0]});"):
        load(parts.write(tmp_path, "group"), device=opengl_device)


def test_memory_that_is_not_there(tmp_path: Path, opengl_device: str) -> None:
    parts = chain(target="glsl").replacing(arena_size=1 << 40)
    with pytest.raises(DeviceError, match=f"GL_OUT_OF_MEMORY while allocating {1 << 40} bytes"):
        load(parts.write(tmp_path), device=opengl_device)


@pytest.mark.parametrize(
    ("kind", "name", "doing"),
    [
        ("Context", "buffer", "allocating 52 bytes"),
        ("Buffer", "write", "copying an input"),
        ("Buffer", "read_into", "copying an output"),
    ],
)
def test_what_moderngl_refuses(
    tmp_path: Path,
    opengl_device: str,
    kind: str,
    name: str,
    doing: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As it does where a driver has no memory left or has lost the context."""
    moderngl = pytest.importorskip("moderngl")

    def refuses(*_: object, **__: object) -> None:
        raise moderngl.Error("cannot map the buffer")

    with load(chain(target="glsl").write(tmp_path), device=opengl_device) as session:
        a, b = pair()
        with monkeypatch.context() as patch:
            patch.setattr(getattr(moderngl, kind), name, refuses)
            with pytest.raises(DeviceError, match=f"cannot map the buffer while {doing}"):
                session.run([a, b]) if kind == "Buffer" else session.bind([a, b])
        np.testing.assert_allclose(session.run([a, b])["y"], chain_result(a, b), 1e-5, 1e-5)


def test_a_function_that_the_driver_lacks(
    tmp_path: Path, opengl_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a device is passed over."""
    from tflgpu.runtime.opengl.egl import Context

    folder = chain(target="glsl").write(tmp_path)
    with load(folder, device=opengl_device) as session:
        session.run(pair())
    monkeypatch.setattr(Context, "load", lambda name: 0)
    with pytest.raises(DeviceError, match=r"there is no OpenGL device; OpenGL ES 3\.1"):
        load(folder, device=opengl_device)
