"""Every operator in every situation of cases.py, on every device, against LiteRT.

The cases of an operator are compiled as one model, which costs a fraction of compiling each alone.
Storage is not left to the compiler's choice here: the model is compiled once with the first kernel
that suits each operator, once with the second, and so on, so that every kernel runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from case import Case
from cases import CASES, families
from conftest import Way
from every_kernel import choosing, rivals
from expressions import Array, Model, model
from tolerances import difference

import tflgpu
from tflgpu.compiler import Options, driver
from tflgpu.compiler.driver import Program
from tflgpu.compiler.litert import Reference


def run(
    program: Program, device: str, folder: Path, inputs: Mapping[str, Array]
) -> dict[str, Array]:
    """The outputs of a program; what it does not write is NaN."""
    stored = driver.store(program, folder)
    with tflgpu.load(stored, device=device, store_binaries=False) as session:
        session.poison()
        return session.run(inputs)


# -- what is expected -------------------------------------------------------------------------


@cache
def expected(case: Case) -> tuple[Array, ...]:
    """LiteRT's outputs of a case."""
    known_by_default = case.operator == "Convolution2DTransposeBias"
    oracle = model({case.name: case.value if case.oracle is None else case.oracle})
    return Reference(oracle.content, delegates=known_by_default).run(oracle.inputs)


# -- what is found ----------------------------------------------------------------------------


def problems(cases: Sequence[Case], way: Way, folder: Path) -> dict[str, str]:
    """What is wrong, by case. If the cases fail together, each runs alone."""
    together = model({case.name: case.value for case in cases})
    try:
        results = iter(outputs(together, way, folder).values())
    except Exception as error:
        if len(cases) == 1:
            return {cases[0].name: shortened(error)}
        alone = (problems([case], way, folder / str(i)) for i, case in enumerate(cases))
        found = {name: text for result in alone for name, text in result.items()}
        return found or {"all together": shortened(error)}
    return {
        case.name: text
        for case in cases
        for value in expected(case)
        if (text := difference(next(results), value))
    }


def shortened(error: Exception) -> str:
    """An error without the kernel's whole text and what else the driver has to say."""
    lines = f"{type(error).__name__}: {error}".splitlines()
    return "\n  ".join([lines[0], *(line for line in lines[1:] if "error:" in line)][:5])


def outputs(compiled: Model, way: Way, folder: Path) -> dict[str, Array]:
    options = Options(target=way.target, device=way.profile, fallback="none")
    return run(driver.build(compiled.content, options), way.device, folder, compiled.inputs)


@pytest.mark.parametrize("operator", families())
def test_operators_agree_with_litert(
    operator: str, way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = families()[operator]
    found: dict[str, str] = {}
    ranks = max(rivals(case, way.profile) for case in cases) if way.every_kernel else 1
    for rank in range(ranks):
        monkeypatch.setattr(driver, "choose_storage", choosing(rank))
        chosen = [case for case in cases if rank < rivals(case, way.profile)]
        wrong = problems(chosen, way, tmp_path / str(rank))
        found |= {f"{name}, kernel {rank}": text for name, text in wrong.items()}
    assert not found, "\n".join(f"{name}: {text}" for name, text in found.items())


def test_the_compiler_s_own_choice_agrees_with_litert(way: Way, tmp_path: Path) -> None:
    cases = [case for case in CASES if case.operator in ("fused", "CONCATENATION", "RESHAPE")]
    found = problems(cases, way, tmp_path)
    assert not found, "\n".join(f"{name}: {text}" for name, text in found.items())


def test_cases_have_names_of_their_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


def test_inputs_are_the_same_every_time_and_not_zeros() -> None:
    for case in CASES[::29]:
        first, second = (model({case.name: case.value}).inputs for _ in range(2))
        assert list(first) == list(second)
        for name, array in first.items():
            np.testing.assert_array_equal(array, second[name])
            assert array.any()
