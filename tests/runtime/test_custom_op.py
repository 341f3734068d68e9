"""The functions given to `load` for operators that the application computes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs.custom import SHAPE, counted, swirled

import tflgpu
from tflgpu.compiler.ir import Array

X = np.ones(SHAPE, np.float32)


@pytest.fixture
def folder(opencl_device: str, tmp_path: Path) -> Path:
    return tflgpu.compile(swirled(), tmp_path, device=opencl_device, custom_ops=["Swirl"])


def test_a_missing_function(folder: Path, opencl_device: str) -> None:
    for functions in (None, {"Twirl": lambda: None}):
        with pytest.raises(
            tflgpu.PlanError, match=r"a function for its operator Swirl: tflgpu.load"
        ):
            tflgpu.load(folder, device=opencl_device, custom_ops=functions)


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        (X, "returned 1 arrays, but the operator has 2 outputs"),
        ((X, X, X), "returned 3 arrays, but the operator has 2 outputs"),
        ((X, X[0]), r"float32 of shape \[5, 7, 3\] for remains, which is float32 of shape"),
        ((X, X.astype(np.complex64)), "returned complex64"),
        ((X, X.astype(str)), "returned <U32"),
    ],
)
def test_what_it_must_return(returned: Any, problem: str, folder: Path, opencl_device: str) -> None:
    def swirl(size: Array, nothing: None, added: Array) -> Any:
        return returned

    loaded = tflgpu.load(folder, device=opencl_device, custom_ops={"Swirl": swirl})
    with loaded as session, pytest.raises(tflgpu.InputError, match=problem):
        session.run(X)


def test_its_errors_are_passed_on(folder: Path, opencl_device: str) -> None:
    def swirl(*operands: Array) -> Any:
        raise LookupError("no such swirl")

    loaded = tflgpu.load(folder, device=opencl_device, custom_ops={"Swirl": swirl})
    with loaded as session, pytest.raises(LookupError, match="no such swirl"):
        session.run(X)


@pytest.mark.parametrize("use", ["run", "bind", "close"])
def test_it_cannot_use_the_session_that_waits_for_it(
    use: str, folder: Path, opencl_device: str
) -> None:
    def swirl(*operands: Array) -> Any:
        getattr(session, use)(*[X] * (use != "close"))

    def sound(*operands: Array) -> Any:
        return X, X

    session = tflgpu.load(folder, device=opencl_device, custom_ops={"Swirl": swirl})
    with session, pytest.raises(tflgpu.DeviceError, match="runs on this thread already: what it"):
        session.run(X)
    with tflgpu.load(folder, device=opencl_device, custom_ops={"Swirl": sound}) as session:
        session.run(X)


def test_operands_are_not_memory_of_the_function(folder: Path, opencl_device: str) -> None:
    """They may be what the caller passed, or constants, which later runs need."""

    def swirl(size: Array, nothing: None, added: Array) -> Any:
        for operand in (size, added):
            with pytest.raises(ValueError, match="read-only"):
                operand += 1
        return size, size

    given = X.copy()
    with tflgpu.load(folder, device=opencl_device, custom_ops={"Swirl": swirl}) as session:
        session.run(given)
    np.testing.assert_array_equal(given, X)


def test_results_are_not_memory_of_the_function(folder: Path, opencl_device: str) -> None:
    kept = (np.zeros(SHAPE, np.float32), X.copy())

    def swirl(*operands: Array) -> Any:
        kept[1][...] += 1
        return kept

    loaded = tflgpu.load(folder, device=opencl_device, custom_ops={"Swirl": swirl})
    with loaded as session:
        first = session.run(X)
        before = {name: array.copy() for name, array in first.items()}
        session.run(X)
    for name, array in first.items():
        np.testing.assert_array_equal(array, before[name])


def test_integers_must_fit(opencl_device: str, tmp_path: Path) -> None:
    folder = tflgpu.compile(counted(), tmp_path, device=opencl_device, custom_ops=["Count"])
    returned = np.array([1, 300, -129, 7])
    functions = {"Count": lambda x: returned}
    with tflgpu.load(folder, device=opencl_device, custom_ops=functions) as session:
        with pytest.raises(tflgpu.InputError, match="integers for count that do not fit in int8"):
            session.run(np.zeros(4, np.int8))
        returned[:] = 5
        np.testing.assert_array_equal(session.run(np.zeros(4, np.int8))["count"], [5, 5, 5, 5])


@pytest.mark.parametrize(
    ("functions", "problem"),
    [
        ("Swirl", "custom_ops is 'Swirl', not a mapping of names to functions"),
        ({"Swirl": None}, r"custom_ops\['Swirl'\] is None, not a function"),
        ({"Swirl": "swirl"}, r"custom_ops\['Swirl'\] is 'swirl', not a function"),
    ],
)
def test_what_is_no_function(
    functions: Any, problem: str, folder: Path, opencl_device: str
) -> None:
    with pytest.raises(tflgpu.InputError, match=problem):
        tflgpu.load(folder, device=opencl_device, custom_ops=functions)


def test_functions_in_c_may_have_no_signature(folder: Path, opencl_device: str) -> None:
    tflgpu.load(folder, device=opencl_device, custom_ops={"Swirl": max}).close()
