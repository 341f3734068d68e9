"""Memory of OpenCL devices: where it comes from, who copies, and that all of it is given back."""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plans import broken, chain, chain_result, misaligned, pair

from tflgpu.runtime import BuildError, PlanError, load
from tflgpu.runtime.opencl import device as opencl
from tflgpu.runtime.opencl import info, library, memory, programs
from tflgpu.runtime.opencl.find import open_device


def test_weights_are_used_in_place(
    tmp_path: Path, opencl_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file's own pages on devices that share the host's memory; a copy by the driver else."""
    made: list[tuple[int, bytes]] = []
    read_only = 4
    original = library.make

    def make(function: str, *arguments: Any) -> int:
        if function == "clCreateBuffer" and arguments[1] & read_only:
            _, flags, size, place = arguments
            made.append((flags, ctypes.string_at(place, size)))
        return original(function, *arguments)

    monkeypatch.setattr(memory, "make", make)
    monkeypatch.setattr(opencl, "SLOW_SUB_BUFFERS", ())
    with load(chain().write(tmp_path), device=opencl_device) as session:
        info = session.device
    ((flags, content),) = made
    assert content == chain().weights
    use_host_ptr, copy_host_ptr = 8, 32
    in_place = info.unified and info.type == "cpu"
    assert flags & (use_host_ptr if in_place else copy_host_ptr)


def shares_memory(device: str) -> bool:
    return info.shares_memory(open_device(device)._device)


def test_memory_that_only_the_driver_copies(
    tmp_path: Path, opencl_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on devices that share none with the host."""
    monkeypatch.setattr(opencl, "shares_memory", lambda device: False)
    calls: list[str] = []
    original = library.call

    def call(function: str, *arguments: Any) -> None:
        calls.append(function)
        original(function, *arguments)

    monkeypatch.setattr(memory, "call", call)
    a, b = pair(1)
    with load(chain().write(tmp_path), device=opencl_device) as session:
        for _ in range(3):
            result = session.run([a, b])["y"]
            np.testing.assert_allclose(result, chain_result(a, b), rtol=1e-5, atol=1e-5)
    assert calls.count("clEnqueueWriteBuffer") == 6
    assert calls.count("clEnqueueReadBuffer") == 3


def test_kernels_get_addresses_where_sub_buffers_are_slow(
    tmp_path: Path, opencl_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on the platform of NVIDIA."""
    monkeypatch.setattr(opencl, "shares_memory", lambda device: False)
    attached = open_device(opencl_device)
    monkeypatch.setattr(opencl, "SLOW_SUB_BUFFERS", {attached.info.platform})
    if not info.shares_addresses(attached._device):
        pytest.skip(f"{opencl_device} has no shared virtual memory")
    made: list[str] = []
    original = library.make

    def make(function: str, *arguments: Any) -> int:
        made.append(function)
        return original(function, *arguments)

    monkeypatch.setattr(memory, "make", make)
    a, b = pair(1)
    with load(chain().write(tmp_path), device=opencl_device) as session:
        session.poison()
        result = session.run([a, b])["y"]
        np.testing.assert_allclose(result, chain_result(a, b), rtol=1e-5, atol=1e-5)
    assert "clCreateBuffer" in made
    assert "clCreateSubBuffer" not in made


def test_copies_wait_for_what_is_under_way(opencl_device: str) -> None:
    """What is filled and then uploaded, or uploaded and then filled, ends as said last."""
    device = open_device(opencl_device)
    size = 1 << 22
    buffer = device.allocate(size)
    array, result = np.arange(size // 4, dtype=np.float32), np.empty(size // 4, np.float32)
    for _ in range(10):
        device.fill(buffer, size, 0xFF)
        device.upload(buffer, array)
        device.download(buffer, result)
        device.finish()
        np.testing.assert_array_equal(result, array)
    device.upload(buffer, array[: size // 8], size // 2)
    device.fill(buffer, size // 4, 0)
    device.download(buffer, result)
    device.finish()
    expected = np.concatenate([0 * array[: size // 16], array[size // 16 : size // 8]])
    np.testing.assert_array_equal(result, np.concatenate([expected, array[: size // 8]]))
    device.release()


def test_everything_is_released(
    tmp_path: Path, opencl_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    shared: list[int] = []
    released: list[tuple[str, int]] = []
    make, call = library.make, library.call

    def counting_make(function: str, *arguments: Any) -> int:
        made.append(make(function, *arguments))
        return made[-1]

    def counting_call(function: str, *arguments: Any) -> None:
        call(function, *arguments)
        if function.startswith("clRelease"):
            released.append((function, *arguments))
        elif function == "clSVMFree":
            shared.append(arguments[1])

    monkeypatch.setattr(opencl, "SLOW_SUB_BUFFERS", ())
    for module in (opencl, memory, programs):
        monkeypatch.setattr(module, "make", counting_make)
    for module in (library, memory):
        monkeypatch.setattr(module, "call", counting_call)
    load(chain().write(tmp_path), device=opencl_device).close()
    # Arena, weights, two inputs, one output, and the four parts of them the kernels work on.
    assert [function for function, _ in released].count("clReleaseMemObject") == 9
    assert [item for _, item in released] == made[::-1]
    assert len(shared) == len(set(shared)) == (4 if shares_memory(opencl_device) else 0)
    with pytest.raises(PlanError):
        load(misaligned().write(tmp_path), device=opencl_device)
    with pytest.raises(BuildError):
        load(broken().write(tmp_path), device=opencl_device)
    assert sorted(item for _, item in released) == sorted(made)
