"""Every operator in every situation, on every device, against LiteRT."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from agreement import problems
from cases import CASES, families
from devices import Way
from every_kernel import choosing, rivals
from graphs import model

from tflgpu.compiler import pipeline


@pytest.mark.parametrize("operator", families())
def test_operators_agree_with_litert(
    operator: str, way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = families()[operator]
    found: dict[str, str] = {}
    for rank in range(max(rivals(case, way.profile) for case in cases)):
        monkeypatch.setattr(pipeline, "choose_storage", choosing(rank))
        tried = cases[way.others] if rank else cases
        chosen = [case for case in tried if rank < rivals(case, way.profile)]
        wrong = problems(chosen, way, tmp_path / str(rank)) if chosen else {}
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
            # A number alone may be a zero that its case is about.
            assert array.any() or not array.shape
