"""Compiling takes time in proportion to the operators."""

from time import process_time

import pytest
from graphs.large import large_model

from tflgpu.compiler import Options, pipeline

pytestmark = pytest.mark.slow

SECONDS_PER_OPERATOR = 6e-3  # 10,000 operators in a minute.

OPTIONS = Options(device="cpu_avx512", fallback="none")


def seconds(operators: int) -> float:
    """CPU time of compiling a model of that many operators."""
    content = large_model(operators)
    begin = process_time()
    compiled = pipeline.build(content, OPTIONS)
    elapsed = process_time() - begin
    assert compiled.operators == operators
    assert operators / 3 < len(compiled.plan.dispatches) < operators
    return elapsed


def test_a_thousand_operators_compile_in_six_seconds() -> None:
    assert seconds(1_000) < 1_000 * SECONDS_PER_OPERATOR


def test_time_grows_about_linearly() -> None:
    seconds(100)  # templates are read and translated once
    small, large = seconds(400), seconds(3_200)
    assert large < 2.5 * 8 * small
    assert large < 3_200 * SECONDS_PER_OPERATOR
