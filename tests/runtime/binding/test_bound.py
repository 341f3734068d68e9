"""Runs on arrays of the host: what can be bound, what is refused, and what is copied."""

import array
import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from devices import Attached, is_gpu
from plans import LENGTH, chain_result, copy, pair

from tflgpu.runtime import DeviceError, InputError, Session, load
from tflgpu.runtime.plan.records import TensorInfo


def check(result: Any, inputs: Any) -> None:
    found = np.frombuffer(result, np.float32)
    np.testing.assert_allclose(found, chain_result(*inputs), rtol=1e-5, atol=1e-5)


def bytes_of(length: int) -> bytearray:
    return bytearray(b"\xff" * length)


def test_outputs_of_a_run_are_the_callers(session: Session) -> None:
    inputs, result = pair(), np.full(LENGTH, np.nan, np.float32)
    returned = session.run(inputs, outputs={"y": result})
    assert list(returned) == ["y"] and returned["y"] is result
    check(result, inputs)
    raw = bytes_of(4 * LENGTH)
    assert session.run(inputs, outputs={"y": raw})["y"] is raw
    check(raw, inputs)
    checked = np.full(LENGTH, np.nan, np.float32)
    session.run(inputs, check=True, outputs={"y": checked})
    np.testing.assert_array_equal(checked, result)


def test_arrays_are_read_and_written_in_place(session: Session) -> None:
    (a, b), result = pair(1), np.empty(LENGTH, np.float32)
    with session.bind({"a": a, "b": b}, {"y": result}) as bound:
        for seed in range(4):
            a[:], b[:] = pair(seed)
            assert bound.run() is bound.outputs
            assert bound.outputs["y"] is result
            check(result, pair(seed))
            # A run of the session's own changes nothing.
            session.run(pair(9))


class OnlyDLPack:
    """An array that is seen through DLPack alone."""

    def __init__(self, content: Any) -> None:
        self.content = content

    def __dlpack__(self, **options: Any) -> Any:
        return self.content.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        device: tuple[int, int] = self.content.__dlpack_device__()
        return device


class Elsewhere:
    """An array of which a library cannot say where it is."""

    __dlpack__ = None

    def __dlpack_device__(self) -> tuple[int, int]:
        raise ValueError("unknown device")


@pytest.mark.parametrize("kind", ["memoryview", "bytearray", "array", "dlpack", "strided"])
def test_kinds_of_memory(session: Session, kind: str) -> None:
    inputs, memory = pair(2), np.zeros(2 * LENGTH, np.float32)
    made: dict[str, Any] = {
        "memoryview": memory[:LENGTH].data,
        "bytearray": bytes_of(4 * LENGTH),
        "array": array.array("f", [0.0] * LENGTH),
        "dlpack": OnlyDLPack(memory[:LENGTH]),
        "strided": memory[::2],
    }
    source, target = made[kind], made[kind]
    with session.bind({"a": source, "b": inputs[1]}, {"y": target}) as bound:
        values = np.from_dlpack(source) if kind == "dlpack" else np.asarray(source)
        values = values.view(np.float32)
        values[:] = inputs[0]
        bound.run()
        check(np.ascontiguousarray(values), inputs)
    if kind == "strided":
        assert not memory[1::2].any()


@pytest.mark.parametrize(
    ("inputs", "outputs", "messages"),
    [
        (
            {"a": np.zeros(3, np.float32), "c": 1},
            {},
            [
                "input a: expected float32 of shape [13], got float32 of shape [3]",
                "c is not an input of the model, which has a, b",
                "input b: it is missing",
            ],
        ),
        (
            {"a": np.zeros(LENGTH), "b": "text"},
            {},
            [
                "input a: expected float32 of shape [13], got float64 of shape [13]",
                "input b: expected float32 of shape [13], got str; bind a numpy array, an object",
            ],
        ),
        (
            {"a": bytes(51), "b": Elsewhere()},
            {},
            [
                "input a: expected float32 of shape [13], which is 52 bytes, got 51 bytes",
                "input b: expected float32 of shape [13], got Elsewhere; bind a numpy array",
            ],
        ),
        (
            {"a": bytes(4 * LENGTH), "b": bytes(4 * LENGTH)},
            {"y": bytes(4 * LENGTH), "z": 1},
            [
                "output y: expected an array of float32 of shape [13] that can be written, got a "
                "read-only one",
                "z is not an output of the model, which has y",
            ],
        ),
    ],
)
def test_what_does_not_fit_is_named(
    session: Session, inputs: dict[str, Any], outputs: dict[str, Any], messages: list[str]
) -> None:
    with pytest.raises(InputError) as caught:
        session.bind(inputs, outputs)
    for message in messages:
        assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1 + len(messages)
    check(session.run(pair())["y"], pair())


def test_tensors_are_read_after_any_run(session: Session) -> None:
    (a, b), y = pair(6), np.empty(LENGTH, np.float32)

    def check_reads() -> None:
        np.testing.assert_allclose(session.read("sum"), a + b, rtol=1e-6)
        for name in ("a", "y"):
            with pytest.raises(InputError, match=f"tensor {name} is an input or output that was b"):
                session.read(name)

    with session.bind([a, b], {"y": y}) as bound:
        bound.run()
        check_reads()
    session.poison()
    list(session.stream([(a, b)]))
    check_reads()
    session.run([a, b], outputs={"y": y})
    np.testing.assert_array_equal(session.read("a"), a)
    np.testing.assert_array_equal(session.read("y"), y)


def test_inputs_and_outputs_come_in_any_container(session: Session) -> None:
    """Inputs are given as `run` takes them, outputs by name."""
    (a, b), y = pair(5), np.empty(LENGTH, np.float32)
    for inputs in ([a, b], (a, b)):
        with session.bind(inputs, {"y": y}) as bound:
            y.fill(np.nan)
            bound.run()
            check(y, (a, b))
    with pytest.raises(InputError, match="1 input given, but the model has 2"):
        session.bind(a, {"y": y})
    for outputs in ([y], y, "y"):
        wrong: Any = outputs
        kind = type(wrong).__name__
        with pytest.raises(InputError, match=f"outputs are given as {kind}; give a mapping of the"):
            session.bind([a, b], wrong)
        with pytest.raises(InputError, match=f"outputs are given as {kind}; give a mapping of the"):
            session.run([a, b], outputs=wrong)
    check(session.run([a, b], outputs={})["y"], (a, b))
    depth: Any = "2"
    with pytest.raises(InputError, match="depth='2': give the number of runs in flight"):
        session.stream([], depth)


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "uint16", "int64", "bool", "float16", "uint32"]
)
def test_dtypes_that_differ_on_the_device(tmp_path: Path, opencl_device: str, dtype: str) -> None:
    info = TensorInfo("x", (2, 3), dtype)
    values = np.array([[0, 1, 2], [100, 27, 3]]).astype(dtype)
    parts = copy(info, "float" if dtype == "float16" else "int")
    result = np.zeros((2, 3), dtype)
    with load(parts.write(tmp_path), device=opencl_device) as session:
        with session.bind({"x": values}, {"y": result}) as bound:
            bound.run()
            np.testing.assert_array_equal(result, values)
            if dtype == "int64":
                values[0, 0] = 1 << 31
                with pytest.raises(InputError, match="x has values from 1 to 2147483648, but int"):
                    bound.run()
        result[:] = 0
        values[0, 0] = 1
        assert session.run(values, outputs={"y": result})["y"] is result
        np.testing.assert_array_equal(result, values)


def test_device_memory_as_an_array(session: Session, attached: Attached) -> None:
    a, b = pair(3)
    try:
        mapped = session.map_input("a")
    except DeviceError as error:
        assert attached.target != "opencl" or is_gpu(attached.device)
        assert "does not share the memory of input a with the host" in str(error)
        return
    assert (mapped.shape, mapped.dtype.name) == (a.shape, "float32")
    result = np.empty(LENGTH, np.float32)
    with session.bind({"a": mapped, "b": b}, {"y": result}) as bound:
        mapped[:] = a
        bound.run()
        check(result, (a, b))
        mapped[:] = 2 * a
        bound.run()
        check(result, (2 * a, b))
    first = np.broadcast_to(mapped[:1], mapped.shape)
    with session.bind({"a": first, "b": b}, {"y": result}) as bound:
        bound.run()
        check(result, (first, b))
    with pytest.raises(InputError, match="c is not an input of the model, which has a, b"):
        session.map_input("c")
    session.close()
    np.testing.assert_array_equal(mapped, 2 * a)


def test_a_closed_run_is_an_error_and_keeps_its_results(session: Session) -> None:
    (a, b), result = pair(4), np.empty(LENGTH, np.float32)
    bound = session.bind({"a": a, "b": b}, {"y": result})
    bound.close()
    bound.close()
    with pytest.raises(DeviceError, match="the bound run is closed; bind its inputs"):
        bound.run()
    dropped = session.bind({"a": a, "b": b}, {"y": result})
    dropped.submit()
    del dropped
    gc.collect()
    late = session.bind({"a": a, "b": b}, {"y": result})
    run = late.submit()
    session.close()
    assert run.done and run.wait()["y"] is result
    check(result, (a, b))
    with pytest.raises(DeviceError, match="the session is closed; load the model again"):
        late.run()
    late.close()
