"""Functions that processors compute by polynomials are as exact as the vocabulary of kernels says.

LiteRT's own are compared elsewhere, with a tolerance that hides a wrong last coefficient.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from agreement import run
from cases.case import Case
from compiled_cases import every_kernel
from graphs import call, x

from tflgpu.compiler.ir import Array

COUNT = 1 << 16


@dataclass(frozen=True)
class Function:
    exact: Callable[[Array], Array]  # Of float64.
    points: Array
    most: float  # Its largest error, relative unless it is `absolute`.
    absolute: bool = False


def logarithmic(low: float, high: float) -> Array:
    return np.exp2(np.linspace(low, high, COUNT))


def linear(most: float) -> Array:
    return np.linspace(-most, most, COUNT)


FUNCTIONS = {
    "COS": Function(np.cos, linear(300), 2e-7, absolute=True),
    "EXP": Function(np.exp, linear(86), 2e-7),
    "LOG": Function(np.log, np.concatenate([logarithmic(-126, 127), logarithmic(-1, 1)]), 2e-7),
    "SIN": Function(np.sin, linear(300), 2e-7, absolute=True),
    "TANH": Function(np.tanh, np.concatenate([linear(12), logarithmic(-60, -1)]), 4e-7),
}


@pytest.mark.parametrize("operator", FUNCTIONS)
def test_errors_are_as_small_as_kernels_say(
    operator: str, opencl_device: str, tmp_path: Path
) -> None:
    """As single values and in slices."""
    function = FUNCTIONS[operator]
    points = function.points.astype(np.float32).reshape(1, 1, -1, 16)
    case = Case(operator, "of many values", call(operator, x(*points.shape)))
    kinds = set()
    for compiled in every_kernel((case,), "opencl", "cpu_avx512", (0, 1)):
        kernels = "".join(compiled.model.sources.values())
        kinds |= {name for name in ("", "S") if f" quick_{operator.lower()}{name}(" in kernels}
        inputs = dict.fromkeys(compiled.inputs, points)
        (found,) = run(
            compiled.model, opencl_device, tmp_path / str(compiled.rank), inputs
        ).values()
        expected = function.exact(points.astype(np.float64))
        errors = np.abs(found - expected)
        if not function.absolute:
            errors = errors / np.maximum(np.abs(expected), np.finfo(np.float32).tiny)
        assert errors.max() <= function.most
    assert kinds == {"", "S"}
