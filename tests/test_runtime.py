"""Sessions on every OpenCL device, with hand-written plans and kernels."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plans import (
    ADD,
    LENGTH,
    Array,
    Parts,
    broken,
    chain,
    chain_result,
    copy,
    kernel,
    misaligned,
    opener,
    pair,
    single,
)

from tflgpu.runtime import BuildError, DeviceError, InputError, PlanError, load
from tflgpu.runtime.opencl import find
from tflgpu.runtime.plan.records import Dispatch, PlacedTensor, Region, TensorInfo
from tflgpu.runtime.plan.storage import DEVICE_TYPES


@pytest.fixture
def opened(tmp_path: Path, opencl_device: str) -> Callable[[Parts], Any]:
    return opener(tmp_path / "cache", opencl_device)


# -- running ----------------------------------------------------------------------------------


def test_chain(opened: Callable[[Parts], Any]) -> None:
    a, b = pair()
    with opened(chain()) as session:
        assert session.inputs == chain().plan.inputs
        assert session.outputs == (TensorInfo("y", (LENGTH,), "float32", 0.5, -3),)
        for inputs in ({"b": b, "a": a}, [a, b], (a, b)):
            session.poison()
            result = session.run(inputs)
            assert list(result) == ["y"]
            np.testing.assert_allclose(result["y"], chain_result(a, b), rtol=1e-5, atol=1e-5)
            assert result["y"].dtype == np.float32


def test_results_belong_to_the_caller(opened: Callable[[Parts], Any]) -> None:
    with opened(chain()) as session:
        first = session.run(pair(3))["y"]
        kept = first.copy()
        second = session.run(pair(4))["y"]
        np.testing.assert_array_equal(first, kept)
        assert not np.array_equal(first, second)
        first[:] = 7


def test_read(opened: Callable[[Parts], Any]) -> None:
    a, b = pair()
    with opened(chain()) as session:
        with pytest.raises(InputError, match="sum has no content before the first run"):
            session.read("sum")
        session.run([a, b])
        np.testing.assert_allclose(session.read("sum"), a + b, rtol=1e-6)
        np.testing.assert_array_equal(session.read("a"), a)
        np.testing.assert_allclose(session.read("y"), chain_result(a, b), rtol=1e-5, atol=1e-5)
        with pytest.raises(
            InputError, match=r"no tensor 'scale' in device memory; did you mean scaled\?"
        ):
            session.read("scale")


@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (3, 5, 7), (5, 11), (3,), ()])
@pytest.mark.parametrize("lanes", [4, 8])
def test_read_slices(opened: Callable[[Parts], Any], shape: tuple[int, ...], lanes: int) -> None:
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


def test_profile(opened: Callable[[Parts], Any]) -> None:
    a, b = pair()
    with opened(chain()) as session:
        times = session.profile({"a": a, "b": b})
        assert [index for index, _ in times] == [0, 1, 2]
        assert all(0 <= seconds < 1 for _, seconds in times)
        np.testing.assert_allclose(session.read("y"), chain_result(a, b), rtol=1e-5, atol=1e-5)


def test_poison(opened: Callable[[Parts], Any]) -> None:
    with opened(chain()) as session:
        session.run(pair())
        session.poison()
        assert np.isnan(session.read("sum")).all()
        assert np.isnan(session.read("y")).all()
        session.poison(0)
        assert (session.read("scaled") == 0).all()


def test_threads(opened: Callable[[Parts], Any]) -> None:
    with opened(chain()) as session, ThreadPoolExecutor(4) as pool:
        inputs = [pair(seed) for seed in range(40)]
        results = list(pool.map(lambda arrays: session.run(arrays)["y"], inputs))
    for (a, b), result in zip(inputs, results, strict=True):
        np.testing.assert_allclose(result, chain_result(a, b), rtol=1e-5, atol=1e-5)


TYPES = {name: {"int32": "int", "float32": "float"}[kind] for name, kind in DEVICE_TYPES.items()}
"""The type of a kernel's elements, by the type of the tensor."""


@pytest.mark.parametrize("dtype", TYPES)
def test_types(opened: Callable[[Parts], Any], dtype: str) -> None:
    x = np.random.default_rng(2).integers(0, 2 if dtype == "bool" else 100, (3, 5)).astype(dtype)
    with opened(copy(TensorInfo("x", (3, 5), dtype), TYPES[dtype])) as session:
        y = session.run(x)["y"]
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, x)


FORMS: dict[str, Callable[[Array], Any]] = {
    "transposed": lambda x: np.ascontiguousarray(x.T).T,
    "strided": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "read-only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
    "other byte order": lambda x: x.astype(">f4"),
    "smaller type": lambda x: x.astype(np.float16),
    "integers": lambda x: x.astype(np.int16),
    "nested list in a list": lambda x: [x.tolist()],
    "by name": lambda x: {"x": x.tolist()},
    "list of integers": lambda x: {"x": x.astype(int).tolist()},
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_an_array(opened: Callable[[Parts], Any], form: str) -> None:
    x = np.random.default_rng(6).integers(1, 50, (3, 5)).astype(np.float32)
    with opened(copy(TensorInfo("x", (3, 5), "float32"))) as session:
        np.testing.assert_array_equal(session.run(FORMS[form](x))["y"], x)


@pytest.mark.parametrize("value", [2.5, np.float32(2.5), np.array(2.5, np.float32), [2.5]])
def test_scalar(opened: Callable[[Parts], Any], value: Any) -> None:
    with opened(copy(TensorInfo("x", (), "float32"))) as session:
        y = session.run(value)["y"]
    assert y.shape == ()
    assert y == 2.5


def test_empty(opened: Callable[[Parts], Any]) -> None:
    """A tensor without elements has no bytes to copy; other inputs are none the worse."""
    empty = TensorInfo("none", (3, 0), "float32")
    source = """
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void main_kernel(__global const float* none, __global const float* x, __global float* y) {
    y[get_global_id(0)] = 2.0f * x[get_global_id(0)];
}
"""
    parts = single(
        source, [empty, TensorInfo("x", (5,), "float32")], TensorInfo("y", (5,), "float32"), 5
    )
    x = np.arange(1, 6, dtype=np.float32)
    with opened(parts) as session:
        np.testing.assert_array_equal(session.run([np.empty((3, 0), np.float32), x])["y"], 2 * x)


def test_empty_output(opened: Callable[[Parts], Any]) -> None:
    parts = copy(TensorInfo("x", (0, 7), "float32")).replacing(dispatches=(), kernels=())
    with opened(replace(parts, sources={})) as session:
        assert session.run(np.empty((0, 7), np.float32))["y"].shape == (0, 7)


def test_no_inputs(opened: Callable[[Parts], Any]) -> None:
    source = """
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void main_kernel(__global float* y) { y[get_global_id(0)] = 3.0f; }
"""
    with opened(single(source, [], TensorInfo("y", (5,), "float32"), 5)) as session:
        np.testing.assert_array_equal(session.run()["y"], np.full(5, 3, np.float32))


# -- inputs that do not fit -------------------------------------------------------------------

ONE = (TensorInfo("x", (2, 3), "float32"),)
BYTES = (TensorInfo("x", (2,), "int8"),)
TWO = (TensorInfo("a", (2,), "float32"), TensorInfo("b", (3, 1), "uint8"))
SINGLES = np.ones((2, 3), np.float32)
BAD_INPUTS: dict[str, tuple[tuple[TensorInfo, ...], Any, str]] = {
    "double": (
        ONE,
        SINGLES.astype(np.float64),
        "the inputs do not match the model:\n  x: expected float32 of shape [2, 3], got float64 of "
        'shape [2, 3]; convert it: x.astype("float32")',
    ),
    "integers": (
        ONE,
        SINGLES.astype(np.int64),
        "the inputs do not match the model:\n  x: expected float32 of shape [2, 3], got int64 of "
        'shape [2, 3]; convert it: x.astype("float32")',
    ),
    "text": (
        ONE,
        "cat.png",
        "the inputs do not match the model:\n  x: expected float32 of shape [2, 3], got <U7 of "
        "shape []",
    ),
    "shape": (
        ONE,
        SINGLES.T,
        "the inputs do not match the model:\n  x: expected float32 of shape [2, 3], got float32 of "
        "shape [3, 2]; reshape it: x.reshape([2, 3])",
    ),
    "size": (
        ONE,
        SINGLES[:1],
        "the inputs do not match the model:\n  x: expected float32 of shape [2, 3], got float32 of "
        "shape [1, 3]",
    ),
    "ragged": (
        ONE,
        [[[1, 2, 3], [4, 5]]],
        "the inputs do not match the model:\n  x: expected float32 of shape [2, 3], got a "
        "ragged list",
    ),
    "bare list": (
        ONE,
        SINGLES.tolist(),
        "2 inputs given, but the model has 1 input: x (float32 of shape [2, 3]); a list is taken "
        "as several inputs, so pass an array, or a list of one array",
    ),
    "value": (
        BYTES,
        [[1, 200]],
        "the inputs do not match the model:\n  x: expected int8 of shape [2], got a value that "
        "int8 cannot hold",
    ),
    "fraction": (
        BYTES,
        [[1, 2.5]],
        "the inputs do not match the model:\n  x: expected int8 of shape [2], got float64 of shape "
        '[2]; convert it: x.astype("int8")',
    ),
    "count": (
        TWO,
        SINGLES,
        "1 input given, but the model has 2 inputs: a (float32 of shape [2]), "
        "b (uint8 of shape [3, 1])",
    ),
    "all at once": (
        TWO,
        {"b": np.ones((3, 1)), "c": 1},
        "the inputs do not match the model:\n"
        "  a is missing; expected float32 of shape [2]\n"
        "  c is not an input of the model, which has a, b\n"
        "  b: expected uint8 of shape [3, 1], got float64 of shape [3, 1]; convert it: "
        'x.astype("uint8")',
    ),
}


@pytest.mark.parametrize("case", BAD_INPUTS)
def test_bad_inputs(case: str) -> None:
    from tflgpu.runtime.inputs import arrays_for

    infos, inputs, message = BAD_INPUTS[case]
    with pytest.raises(InputError) as caught:
        arrays_for(infos, inputs)
    assert str(caught.value) == message


def test_session_stays_usable_after_bad_inputs(opened: Callable[[Parts], Any]) -> None:
    a, b = pair()
    with opened(chain()) as session:
        for call in (session.run, session.profile):
            with pytest.raises(InputError, match="b is missing"):
                call({"a": a})
        np.testing.assert_allclose(
            session.run([a, b])["y"], chain_result(a, b), rtol=1e-5, atol=1e-5
        )


# -- closing ----------------------------------------------------------------------------------


def test_use_after_close(opened: Callable[[Parts], Any]) -> None:
    with opened(chain()) as session:
        session.run(pair())
        assert session.device.alignment > 0
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


# -- plans the device cannot run --------------------------------------------------------------


def test_misaligned(tmp_path: Path, opencl_device: str) -> None:
    alignment = find.select_device(opencl_device).alignment
    with pytest.raises(PlanError) as caught:
        load(misaligned().write(tmp_path), device=opencl_device)
    assert (
        "dispatch 0 (ADD -> sum) has an argument at byte 4, but this device needs multiples of "
        f"{alignment}; compile the model for this device"
    ) in str(caught.value)


def test_group_too_large(tmp_path: Path, opencl_device: str) -> None:
    parts = chain()
    first, *others = parts.plan.kernels
    group = (1, 1, 65536)
    launch = replace(parts.plan.dispatches[0], grid=group)
    parts = parts.replacing(
        kernels=(replace(first, group=group), *others),
        dispatches=(launch, *parts.plan.dispatches[1:]),
    )
    with pytest.raises(PlanError, match=r"000_add\.cl has work-groups of \[1, 1, 65536\]"):
        load(parts.write(tmp_path), device=opencl_device)


def test_arena_too_large(tmp_path: Path, opencl_device: str) -> None:
    size = find.select_device(opencl_device).max_allocation + 1
    with pytest.raises(PlanError, match=f"the arena takes {size} bytes, but a buffer of this"):
        load(chain().replacing(arena_size=size).write(tmp_path), device=opencl_device)


def test_other_target(tmp_path: Path, opencl_device: str) -> None:
    parts = copy(TensorInfo("x", (3,), "float32")).replacing(
        target="glsl", kernels=(), dispatches=()
    )
    with pytest.raises(DeviceError, match="the model was compiled for glsl"):
        load(replace(parts, sources={}).write(tmp_path), device=opencl_device)


def test_build_error(tmp_path: Path, opencl_device: str) -> None:
    with pytest.raises(BuildError) as caught:
        load(broken("y[0] = nothing;").write(tmp_path), device=opencl_device)
    error = caught.value
    assert error.kernel == "kernels/001_scale.cl"
    assert "nothing" in error.log
    assert str(error).startswith("the driver's compiler rejected kernels/001_scale.cl:\n")
    assert error.source.splitlines()[2] == "3 | y[0] = nothing;"


def test_wrong_number_of_arguments(tmp_path: Path, opencl_device: str) -> None:
    parts = chain()
    first = parts.plan.dispatches[0]
    shorter = replace(first, arguments=first.arguments[1:])
    folder = parts.replacing(dispatches=(shorter, *parts.plan.dispatches[1:])).write(tmp_path)
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


# -- kernel files -----------------------------------------------------------------------------


def test_remarks_of_the_compiler_are_no_warnings(opened: Callable[[Parts], Any]) -> None:
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
def test_files_that_clash(opened: Callable[[Parts], Any], clash: str) -> None:
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
