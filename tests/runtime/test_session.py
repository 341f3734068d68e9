"""Sessions on every device, with hand-written plans and kernels."""

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from devices import Attached
from plans import LENGTH, Opener, chain, chain_result, copy, opener, pair, single

from tflgpu.runtime import DeviceError, InputError, Session
from tflgpu.runtime.plan.records import PlacedTensor, Region, TensorInfo


@pytest.fixture
def session(tmp_path: Path, attached: Attached) -> Iterator[Session]:
    """The chain, loaded."""
    with opener(tmp_path / "cache", attached.device)(chain(target=attached.target)) as opened:
        yield opened


def test_a_session_shows_device_and_tensors(session: Session) -> None:
    a, b = pair()
    with session:
        device = session.device.name
        ends = f"a float32[{LENGTH}], b float32[{LENGTH}] -> y float32[{LENGTH}]>"
        assert repr(session) == f"<Session chain.tflite on {device}: {ends}"
        html = session._repr_html_()
        assert f"<td>input</td><td>b</td><td>float32</td><td>[{LENGTH}]</td>" in html
        bound = session.bind([a, b])
        assert repr(bound) == f"<BoundRun chain.tflite on {device}: {ends}"
        run = bound.submit()
        assert repr(run) == f"<SubmittedRun chain.tflite on {device} in flight: {ends}"
        run.wait()
        assert repr(run) == f"<SubmittedRun chain.tflite on {device} done: {ends}"
    assert repr(session) == f"<Session chain.tflite on {device} (closed): {ends}"


def test_a_chain_of_kernels_runs(session: Session, attached: Attached) -> None:
    a, b = pair()
    assert session.device.target == attached.target
    assert session.inputs == chain().plan.inputs
    assert session.outputs == (TensorInfo("y", (LENGTH,), "float32", 0.5, -3),)
    for inputs in ({"b": b, "a": a}, [a, b], (a, b)):
        session.poison()
        result = session.run(inputs)
        assert list(result) == ["y"]
        np.testing.assert_allclose(result["y"], chain_result(a, b), rtol=1e-5, atol=1e-5)
        assert result["y"].dtype == np.float32


def test_results_belong_to_the_caller(session: Session) -> None:
    first = session.run(pair(3))["y"]
    kept = first.copy()
    second = session.run(pair(4))["y"]
    np.testing.assert_array_equal(first, kept)
    assert not np.array_equal(first, second)
    first[:] = 7


def test_tensors_can_be_read_after_a_run(session: Session) -> None:
    a, b = pair()
    with pytest.raises(InputError, match="sum has no content before the first run"):
        session.read("sum")
    session.run([a, b])
    np.testing.assert_allclose(session.read("sum"), a + b, rtol=1e-6)
    np.testing.assert_array_equal(session.read("a"), a)
    np.testing.assert_allclose(session.read("y"), chain_result(a, b), rtol=1e-5, atol=1e-5)
    message = r"no tensor 'scale' in device memory; did you mean scaled\?"
    with pytest.raises(InputError, match=message):
        session.read("scale")
    with pytest.raises(InputError, match="no tensor 3 in device memory"):
        session.read(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (3, 5, 7), (5, 11), (3,), ()])
@pytest.mark.parametrize("lanes", [4, 8])
def test_a_sliced_tensor_is_read_in_its_own_shape(
    opened: Opener, shape: tuple[int, ...], lanes: int
) -> None:
    """A channel-sliced tensor comes back in its own shape."""
    batch, height, width, channels = (1,) * (4 - len(shape)) + shape
    slices = -(-channels // lanes)
    stored = TensorInfo("x", (batch, slices, height, width, lanes), "float32")
    parts = copy(stored)
    size = 4 * int(np.prod(stored.shape))
    tensor = PlacedTensor("t", shape, "float32", lanes, Region.OUTPUT, 0, 0, size, 0, 1)
    content = np.random.default_rng(8).uniform(1, 2, stored.shape).astype(np.float32)
    expected = np.zeros((batch, height, width, channels), np.float32)
    for channel in range(channels):
        expected[..., channel] = content[:, channel // lanes, :, :, channel % lanes]
    with opened(parts.replacing(tensors=(tensor,))) as session:
        session.run(content)
        np.testing.assert_array_equal(session.read("t"), expected.reshape(shape))


@pytest.mark.shared
def test_profile_times_every_dispatch(session: Session) -> None:
    a, b = pair()
    times = session.profile({"a": a, "b": b})
    assert [index for index, _ in times] == [0, 1, 2]
    assert all(0 <= seconds < 10 for _, seconds in times)
    np.testing.assert_allclose(session.read("y"), chain_result(a, b), rtol=1e-5, atol=1e-5)


@pytest.mark.shared
def test_poison_fills_what_kernels_do_not_write(session: Session) -> None:
    session.run(pair())
    session.poison()
    assert np.isnan(session.read("sum")).all()
    assert np.isnan(session.read("y")).all()
    session.poison(0)
    assert (session.read("scaled") == 0).all()
    with pytest.raises(InputError, match="byte=256: give a number from 0 to 255"):
        session.poison(256)


def test_threads_may_share_a_session(session: Session) -> None:
    inputs = [pair(seed) for seed in range(40)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda arrays: session.run(arrays)["y"], inputs))
    for (a, b), result in zip(inputs, results, strict=True):
        np.testing.assert_allclose(result, chain_result(a, b), rtol=1e-5, atol=1e-5)


def test_an_output_may_be_empty(opened: Opener) -> None:
    parts = copy(TensorInfo("x", (0, 7), "float32")).replacing(dispatches=(), kernels=())
    with opened(replace(parts, sources={})) as session:
        assert session.run(np.empty((0, 7), np.float32))["y"].shape == (0, 7)


def test_a_model_may_have_no_inputs(opened: Opener) -> None:
    source = """
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void main_kernel(__global float* y) { y[get_global_id(0)] = 3.0f; }
"""
    with opened(single(source, [], TensorInfo("y", (5,), "float32"), 5)) as session:
        np.testing.assert_array_equal(session.run()["y"], np.full(5, 3, np.float32))


@pytest.mark.parametrize("copied", [pickle.dumps, deepcopy])
def test_it_has_no_copies(copied: Callable[[Any], Any], session: Session) -> None:
    with pytest.raises(DeviceError, match="neither be copied nor sent to another process; load"):
        copied(session)


def test_use_after_close(session: Session) -> None:
    with session:
        session.run(pair())
        assert session.device.limits.alignment > 0
    session.close()
    uses: list[Callable[[], Any]] = [
        lambda: session.run(pair()),
        lambda: session.profile(pair()),
        lambda: session.read("sum"),
        lambda: session.poison(),
        lambda: session.device,
        lambda: session.__enter__(),
    ]
    for use in uses:
        with pytest.raises(DeviceError, match="the session is closed; load the model again"):
            use()
    assert session.inputs == chain().plan.inputs
