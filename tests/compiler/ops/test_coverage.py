"""Nothing without a test."""

from __future__ import annotations

import re
from pathlib import Path

from cases import CASES, families
from graphs import model
from paths import ROOT, TEMPLATES

from tflgpu.compiler.codegen.intrinsics import defined_word
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
    texts = [path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py")]
    named = {name for text in texts for name in re.findall(r'"(\w+)"', text)}
    without = {name for name in OPS if not name.startswith(OWN)} - families().keys() - named
    assert without == set()


def test_every_operator_is_one_of_tflite_s() -> None:
    unknown = {name for name in OPS if not name.startswith(OWN)} - set(OPERATORS.values())
    assert unknown - CUSTOM == set()


def test_operators_without_kernels_say_why() -> None:
    assert [name for name, row in OPS.items() if not row.kernels and not row.note] == []


def test_cases_cover_ranks_and_batches() -> None:
    shapes = [
        array.shape for case in CASES for array in model({case.name: case.value}).inputs.values()
    ]
    assert {len(shape) for shape in shapes} >= {0, 1, 2, 3, 4, 5, 6}
    assert sum(len(shape) == 4 and shape[0] > 1 for shape in shapes) > 100


def templates() -> dict[str, str]:
    return {path.name: path.read_text() for path in TEMPLATES.glob("*.jinja")}


def compiler_text() -> str:
    return "".join(path.read_text() for path in (ROOT / "compiler").rglob("*.py"))


def test_every_template_is_used() -> None:
    """By an operator that names it, or by another template."""
    used = set(re.findall(r'"(\w+\.jinja)"', compiler_text()))
    for text in templates().values():
        used |= set(re.findall(r"{% (?:from|import|include) \"([\w.]+)\"", text))
    assert templates().keys() - used == set()


IMAGES = {"read_texel", "texel_lane"}


SUB_GROUPS = {"from_neighbour", "sub_group_lane", "sub_group_number"}


LANGUAGE_ONLY = {"INFINITY", "NAN", "rest_of", "upper_bits", *IMAGES, *SUB_GROUPS}
"""Words built into OpenCL C, those that only other words of GLSL need, and what profiles ask of
OpenCL C alone."""


BUILT = {"bits_to_float", "bits_to_int"}
"""Words whose names are put together from a type."""


def words(dialect: str) -> dict[str, str]:
    """Each word and its definition."""
    lines = (TEMPLATES / "dialects" / f"{dialect}.h").read_text().splitlines()
    return {word: line.split(word, 1)[1] for line in lines if (word := defined_word(line))}


def test_both_languages_have_the_same_words() -> None:
    assert words("opencl").keys() | LANGUAGE_ONLY == words("glsl").keys() | LANGUAGE_ONLY


def test_every_word_is_used() -> None:
    """In a template, in the text of an expression or a view, or in another word of a language."""
    both = [value for dialect in ("opencl", "glsl") for value in words(dialect).values()]
    # Expressions name a word that has a form for slices once.
    texts = "".join((compiler_text().replace("{S}", "S"), *templates().values(), *both))
    unused = {word for word in words("opencl") if not re.search(rf"\b{word}\b", texts)}
    assert unused - BUILT == set()
