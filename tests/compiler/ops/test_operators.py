"""Every operator in every situation, on every device, against LiteRT."""

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from agreement import assert_cases, differences, run
from cases import CASES, families
from cases.sample import names, sample
from compiled_cases import CompiledCases, every_kernel, sampled_kernels
from devices import Way, ways
from graphs import model

# A buffer of a kernel, in each language.
ARGUMENT = re.compile(
    r"__global [\w ]+\* (?:restrict )?(\w+)[,)]|buffer \w+ \{ \w+ (\w+)\[\]"
    r"|var<storage[^>]*> (\w+):"
)
VARIABLE = re.compile(r"^ +(?:(?:float|int|bool)\d*|[iu]?vec4|uint|let|var) (\w+)\b(?! *\()", re.M)
# How many operators are compiled as one model: with each program, a driver of OpenCL begins by
# reading a megabyte of declarations.
TOGETHER = 8
PARTS = -(-len(families()) // TOGETHER)
# Of an operator's cases, how far those are apart that run with each of its implementations.
EVERY = 4


@pytest.mark.shared
@pytest.mark.parametrize("way", ways(), ids=str, indirect=True)
@pytest.mark.parametrize("part", range(PARTS))
def test_operators_agree_with_litert(
    part: int, way: Way, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    operators = list(families().values())[part::PARTS]
    cases = tuple(case for found in operators for case in found)
    step = 1 if request.config.getoption("--cases") == "all" else EVERY
    if way.whole:
        assert_kernels_agree(every_kernel(cases, way.target, way.profile, (0, step)), way, tmp_path)
    else:
        assert_kernels_agree(sampled_kernels(cases, way.target, way.profile), way, tmp_path)


@pytest.mark.optimized
@pytest.mark.parametrize("way", ways()[:1], ids=str, indirect=True)
def test_optimized_kernels_agree_with_litert(way: Way, tmp_path: Path) -> None:
    """A case of each operator, from another place in its table than the one before has."""
    cases = tuple(found[i % len(found)] for i, found in enumerate(families().values()))
    assert_kernels_agree(every_kernel(cases, way.target, way.profile, (0, 1)), way, tmp_path)


def assert_kernels_agree(compiled: Iterable[CompiledCases], way: Way, folder: Path) -> None:
    """What is wrong is told by case and implementation."""
    found: dict[str, str] = {}
    for item in compiled:
        for file, source in item.model.sources.items():
            names = {name for match in ARGUMENT.findall(source) for name in match if name}
            hidden = names & set(VARIABLE.findall(source))
            assert not hidden or file.endswith("_persistent.cl"), f"{file} hides {hidden}"
        results = run(item.model, way.device, folder / str(item.rank), item.inputs)
        wrong = differences(item.cases, results)
        found |= {f"{name}, implementation {item.rank}": text for name, text in wrong.items()}
    assert not found, "\n".join(f"{name}: {text}" for name, text in found.items())


def test_the_sample_is_of_the_cases() -> None:
    assert names() <= {(case.operator, case.situation) for case in CASES}, "python -m cases.sample"


def test_the_compiler_s_own_choice_agrees_with_litert(way: Way, tmp_path: Path) -> None:
    cases = [case for case in CASES if case.operator in ("fused", "CONCATENATION", "RESHAPE")]
    assert_cases([case for case in cases if way.whole or case in sample(way.target)], way, tmp_path)


def test_cases_have_names_of_their_own() -> None:
    """They end where the names of tensors go on, with a slash or a colon."""
    assert len({case.name for case in CASES}) == len(CASES)
    assert [case.name for case in CASES if re.search("[/:]", case.name)] == []


def test_inputs_are_the_same_every_time_and_not_zeros() -> None:
    for case in CASES[::29]:
        first, second = (model({case.name: case.value}).inputs for _ in range(2))
        assert list(first) == list(second)
        for name, array in first.items():
            np.testing.assert_array_equal(array, second[name])
            # A number alone may be a zero that its case is about.
            assert array.any() or array.size == 1
