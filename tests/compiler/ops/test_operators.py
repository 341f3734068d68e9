"""Every operator in every situation, on every device, against LiteRT."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from agreement import differences, problems, run
from cases import CASES, families
from compiled_cases import each_operator, every_kernel
from devices import Way
from graphs import model
from shared_programs import hasty_drivers

ARGUMENT = re.compile(
    r"__global [\w ]+\* (?:restrict )?(\w+)[,)]|buffer \w+ \{ \w+ (\w+)\[\]"
    r"|var<storage[^>]*> (\w+):"
)
"""A buffer of a kernel, in each language."""
VARIABLE = re.compile(r"^ +(?:(?:float|int|bool)\d*|[iu]?vec4|uint|let|var) (\w+)\b(?! *\()", re.M)


@pytest.mark.optimized
@each_operator
def test_operators_agree_with_litert(operator: str, way: Way, tmp_path: Path) -> None:
    found: dict[str, str] = {}
    cases = way.shared(families()[operator])
    optimizes = way.optimizes(list(families()).index(operator))
    for item in every_kernel(cases, way.target, way.profile, way.others):
        for file, source in item.model.sources.items():
            names = {name for match in ARGUMENT.findall(source) for name in match if name}
            hidden = names & set(VARIABLE.findall(source))
            assert not hidden or file.endswith("_persistent.cl"), f"{file} hides {hidden}"
        with hasty_drivers(not optimizes):
            results = run(item.model, way.device, tmp_path / str(item.rank), item.inputs)
        wrong = differences(item.cases, results)
        found |= {f"{name}, implementation {item.rank}": text for name, text in wrong.items()}
    assert not found, "\n".join(f"{name}: {text}" for name, text in found.items())


def test_the_compiler_s_own_choice_agrees_with_litert(way: Way, tmp_path: Path) -> None:
    cases = [case for case in CASES if case.operator in ("fused", "CONCATENATION", "RESHAPE")]
    found = problems(way.shared(tuple(cases)), way, tmp_path)
    assert not found, "\n".join(f"{name}: {text}" for name, text in found.items())


def test_cases_have_names_of_their_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


def test_inputs_are_the_same_every_time_and_not_zeros() -> None:
    for case in CASES[::29]:
        first, second = (model({case.name: case.value}).inputs for _ in range(2))
        assert list(first) == list(second)
        for name, array in first.items():
            np.testing.assert_array_equal(array, second[name])
            # A number alone may be a zero that its case is about.
            assert array.any() or not array.shape
