"""The functions given to `load` for operators that the application computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs.custom import SHAPE, swirled

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
