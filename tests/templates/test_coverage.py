"""Every template and every intrinsic is used, in every language it needs."""

import re

import pytest
from paths import ROOT, TEMPLATES

from tflgpu.compiler.codegen.functions.definitions import needs
from tflgpu.compiler.codegen.wgsl import print_kernel
from tflgpu.compiler.intrinsics import INTRINSICS
from tflgpu.compiler.language.expression import Name
from tflgpu.compiler.language.language import LANGUAGES, WGSL
from tflgpu.compiler.language.primary import Call
from tflgpu.compiler.language.statement import Evaluate, body
from tflgpu.compiler.language.types import FLOAT

IMAGES = {"read_texel", "read_half_texel", "texel_lane"}
# For kernels that only OpenCL C has, as images are.
BYTES = {
    *("add_products", "add_signed_products", "as_ints", "byte_word", "bytes_at", "word_at"),
    *("look_up_bytes", "part_of_word_at"),
}
# For arithmetic in `mediump`, which GLSL ES alone has.
MEDIUM = {"load_medium", "medium_halves"}
# For weights and pixels in pairs of slices, in Vulkan's GLSL alone.
PAIRS = {"words_at", "halves_of", "half_words", "pairs2", "pairs4"}
# For bytes and shorts that share a word in GLSL; OpenCL C has arrays of them.
PACKED = {
    *("int8_at", "uint8_at", "set_byte", "set_bytes", "store_word"),
    *("uint16_at", "set_short", "set_shorts", "store_two_words"),
}
# GLSL ES has no sub-groups.
SUB_GROUPS = {
    *("sub_groups", "sub_group_number", "sub_group_lane"),
    *("sub_group_sum", "sub_group_sums", "sub_group_max"),
}
BUILT_IN = {
    "opencl": {
        *(
            "INFINITY",
            "NAN",
            "division_residual",
            "upper_bits_of",
            "add_wide",
            "in_bytes",
            "in_shorts",
        ),
        *("from_bytes", "from_halves", "isnan", "isinf", "mod"),
        *PACKED,
        *MEDIUM,
        *PAIRS,
    },
    "glsl": {
        "int8_numbers",
        "uint8_numbers",
        "uint16_numbers",
        *(
            "reduced_sine",
            "reduced_sineS",
            "quick_cos",
            "quick_cosS",
            "quick_decay",
            "quick_decayS",
            "quick_exp",
            "quick_expS",
            "quick_exp2",
            "quick_exp2S",
            "quick_gelu",
            "quick_geluS",
            "quick_log",
            "quick_logS",
            "quick_sin",
            "quick_sinS",
            "quick_tanh",
            "quick_tanhS",
            "quick_tanh_gelu",
            "quick_tanh_geluS",
            "load_integers",
            "sums_of_lanes",
            "transpose_lanes",
        ),
        *("element_of", "lane_of", "lane_of_halves"),
        *("isnan", "isinf", "mod"),
        *PAIRS,
        *IMAGES,
        *BYTES,
        *SUB_GROUPS,
    },
}
# Intrinsics a language has by itself, or that only others of another language need.
BUILT_IN["wgsl"] = BUILT_IN["glsl"] - {"isnan", "isinf", "mod"} | MEDIUM


def templates() -> dict[str, str]:
    """The text of each template, by its path below templates/."""
    return {
        path.relative_to(TEMPLATES).as_posix(): path.read_text(encoding="utf-8")
        for path in TEMPLATES.rglob("*.jinja")
    }


def compiler_text() -> str:
    """That of all modules but those that define intrinsics."""
    files = set((ROOT / "compiler").rglob("*.py")) - set((ROOT / "compiler/intrinsics").iterdir())
    return "".join(path.read_text(encoding="utf-8") for path in sorted(files))


def test_every_template_is_used() -> None:
    """By an operator that names it, or by another template."""
    used = set(re.findall(r'"([\w/]+\.jinja)"', compiler_text()))
    for text in templates().values():
        used |= set(re.findall(r"{%-? *(?:from|import|include) \"([\w./]+)\"", text))
    frames = {f"dialects/{language}.jinja" for language in LANGUAGES}
    assert templates().keys() - used - frames == {"dialects/opencl_functions.jinja"}


def test_both_languages_have_the_same_intrinsics() -> None:
    for language, excepted in BUILT_IN.items():
        missing = {n for n, entry in INTRINSICS.items() if language not in entry.forms}
        assert missing <= excepted, language


@pytest.mark.parametrize("name", [n for n, e in INTRINSICS.items() if "wgsl" in e.forms])
def test_wgsl_knows_what_definitions_call(name: str) -> None:
    """An intrinsic is called with values of its parameters' types."""
    types = {n: WGSL.name_of(t or FLOAT, 4) for n, t in INTRINSICS[name].parameters.items()}
    given = [Name(each) for each in types]
    value = Call(name, *given) if given or not INTRINSICS[name].result else Name(name)
    print_kernel("some.jinja", body(Evaluate(value)), types)


def test_every_intrinsic_is_used() -> None:
    """In a template, in the text of an expression or an accessor, or by another intrinsic."""
    needed = {
        called
        for name in INTRINSICS
        for language in LANGUAGES.values()
        for called in needs(name, language)
    }
    # Code names an intrinsic that has a form for slices once.
    texts = "".join((compiler_text(), *templates().values()))
    unused = {
        name
        for name in INTRINSICS.keys() - needed
        if not re.search(rf"\b{name.removesuffix('S')}S?\b", texts)
    }
    assert unused == set()
