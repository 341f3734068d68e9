"""Runs whose launches the driver was handed once: command buffers."""

from pathlib import Path

import numpy as np
import pytest
from plans import LENGTH, chain, chain_result

from tflgpu.runtime import load
from tflgpu.runtime.opencl.command_buffers import EXTENSION, LEAKING, CommandBuffers
from tflgpu.runtime.opencl.device import OpenCLDevice
from tflgpu.runtime.opencl.find import devices
from tflgpu.runtime.opencl.library import OpenCLError


def refuse(*arguments: object) -> None:
    raise OpenCLError("clFinalizeCommandBufferKHR", -59)


def check(folder: Path, device: str, launches: int) -> None:
    """Results are right run after run, dispatches can still be timed, and all is given back."""
    with load(folder, device=device, store_binaries=False) as session:
        (recorded,) = session._execution.commands.recorded
        assert len(recorded) == launches
        for seed in range(3):
            a, b = np.random.default_rng(seed).uniform(-1, 1, (2, LENGTH)).astype(np.float32)
            found = session.run([a, b])["y"]
            np.testing.assert_allclose(found, chain_result(a, b), 1e-5, 1e-5)
        assert len(session.profile([a, b])) == len(session.plan.dispatches) > 1
        np.testing.assert_array_equal(session.run([a, b])["y"], found)


def test_launches_are_recorded_where_the_driver_can(opencl_device: str, tmp_path: Path) -> None:
    (info,) = (info for info in devices() if str(info) == opencl_device)
    folder = chain().write(tmp_path)
    records = EXTENSION in info.limits.extensions and info.platform not in LEAKING
    check(folder, opencl_device, 1 if records else 3)


def test_they_are_launched_one_by_one_where_it_refuses(
    opencl_device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = chain().write(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(CommandBuffers, "record", refuse)
        check(folder, opencl_device, 3)
    monkeypatch.setattr(OpenCLDevice, "_open_command_buffers", lambda device: None)
    check(folder, opencl_device, 3)


def test_a_run_that_fails_leaves_nothing_running(
    opencl_device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = np.random.default_rng(3).uniform(-1, 1, (2, LENGTH)).astype(np.float32)
    with load(chain().write(tmp_path), device=opencl_device) as session:
        execution = session._execution
        with monkeypatch.context() as patch:
            patch.setattr(execution, "_results", refuse)
            with pytest.raises(OpenCLError):
                session.run([a, b])
        assert isinstance(execution.device, OpenCLDevice)
        assert not execution.device._memory.busy
        np.testing.assert_allclose(session.run([a, b])["y"], chain_result(a, b), 1e-5, 1e-5)
