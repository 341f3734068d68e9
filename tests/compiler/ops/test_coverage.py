"""Nothing without a test."""

from __future__ import annotations

import re

from cases import CASES, families
from graphs import model
from paths import TESTS

from tflgpu.compiler.frontend.tflite_schema import OPERATORS
from tflgpu.compiler.ops import OPS

OWN = "tflgpu."
CUSTOM = {
    "Convolution2DTransposeBias",
    "LiteRtMaxUnpooling2D",
    "MaxPoolingWithArgmax2D",
    "MaxUnpooling2D",
    "Resampler",
    "TFLite_Detection_PostProcess",
    "moe",
}
"""Custom operators of MediaPipe, of the object detection API and of language models."""


def test_every_operator_has_a_case() -> None:
    """In the table, or in a test file of its own that names it: state, control flow, unpooling."""
    texts = [path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")]
    named = {name for text in texts for name in re.findall(r'"(\w+)"', text)}
    without = {name for name in OPS if not name.startswith(OWN)} - families().keys() - named
    assert without == set()


def test_every_operator_is_one_of_tflite_s() -> None:
    unknown = {name for name in OPS if not name.startswith(OWN)} - set(OPERATORS.values())
    assert unknown - CUSTOM == set()


def test_operators_without_kernels_say_why() -> None:
    assert [n for n, row in OPS.items() if not row.implementations and not row.note] == []


def test_cases_cover_ranks_and_batches() -> None:
    shapes = [
        array.shape for case in CASES for array in model({case.name: case.value}).inputs.values()
    ]
    assert {len(shape) for shape in shapes} >= {0, 1, 2, 3, 4, 5, 6}
    assert sum(len(shape) == 4 and shape[0] > 1 for shape in shapes) > 100
