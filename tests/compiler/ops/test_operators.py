"""Every operator in every situation, on every device, against LiteRT."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement import assert_cases, differences, run
from cases import CASES, families
from compiled_cases import every_kernel
from devices import Way, ways
from graphs import model
from shared_programs import hasty_drivers

# A buffer of a kernel, in each language.
ARGUMENT = re.compile(
    r"__global [\w ]+\* (?:restrict )?(\w+)[,)]|buffer \w+ \{ \w+ (\w+)\[\]"
    r"|var<storage[^>]*> (\w+):"
)
VARIABLE = re.compile(r"^ +(?:(?:float|int|bool)\d*|[iu]?vec4|uint|let|var) (\w+)\b(?! *\()", re.M)
# How many operators are compiled as one model where a device takes a share of their cases: with
# each program, PoCL begins by reading a megabyte of declarations.
TOGETHER = 8


def by_way() -> list[Any]:
    """Each way, with one operator where all of its cases run, else with several."""
    names = list(families())
    rows = []
    for way in ways():
        parts = len(names) if way.whole else -(-len(names) // TOGETHER)
        for part in range(parts):
            label = names[part] if way.whole else str(part)
            rows.append(pytest.param(names[part::parts], way, id=f"{way}-{label}"))
    return rows


@pytest.mark.optimized
@pytest.mark.parametrize(("operators", "way"), by_way(), indirect=["way"])
def test_operators_agree_with_litert(operators: list[str], way: Way, tmp_path: Path) -> None:
    found: dict[str, str] = {}
    for number, together in enumerate([[name] for name in operators] if way.whole else [operators]):
        found |= disagreements(together, way, tmp_path / str(number))
    assert not found, "\n".join(f"{name}: {text}" for name, text in found.items())


def disagreements(operators: list[str], way: Way, folder: Path) -> dict[str, str]:
    """What is wrong with results of these operators' cases, by case and implementation."""
    found: dict[str, str] = {}
    cases = tuple(case for name in operators for case in way.shared(families()[name]))
    optimizes = way.optimizes(list(families()).index(operators[0]))
    for item in every_kernel(cases, way.target, way.profile, way.others):
        for file, source in item.model.sources.items():
            names = {name for match in ARGUMENT.findall(source) for name in match if name}
            hidden = names & set(VARIABLE.findall(source))
            assert not hidden or file.endswith("_persistent.cl"), f"{file} hides {hidden}"
        with hasty_drivers(not optimizes):
            results = run(item.model, way.device, folder / str(item.rank), item.inputs)
        wrong = differences(item.cases, results)
        found |= {f"{name}, implementation {item.rank}": text for name, text in wrong.items()}
    return found


def test_the_compiler_s_own_choice_agrees_with_litert(way: Way, tmp_path: Path) -> None:
    cases = [case for case in CASES if case.operator in ("fused", "CONCATENATION", "RESHAPE")]
    assert_cases(way.shared(tuple(cases)), way, tmp_path)


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
