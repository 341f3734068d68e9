"""What holds of every template: it reads as a kernel, and spells no type."""

import re

import jinja2
import pytest
from jinja2 import nodes
from paths import TEMPLATES

from tflgpu.compiler.codegen.rendering.environment import environment
from tflgpu.compiler.language.language import LANGUAGES

KERNELS = sorted(
    path.relative_to(TEMPLATES).as_posix()
    for path in TEMPLATES.rglob("*.jinja")
    if path.parent.name != "dialects"
)
LONGEST = 120
# What only one language has, or what a construct of the language says.
SPELLED = re.compile(
    r"\b(?:int|float|bool|uint|half|void|[iu]?vec[234]|(?:float|int|half|uchar)\d+) +\w+ *[=;\[]"
    r"|__\w+|\b(?:for|while|if) \(|#pragma|get_\w+_id"
)


def spelled(text: str) -> list[str]:
    """What the plain text of a template spells, which tags and expressions do not."""
    tree = environment().parse(text)
    plain = (data.data for data in tree.find_all(nodes.TemplateData))
    return [found[0] for part in plain for found in SPELLED.finditer(part)]


def test_spelled_types_are_found() -> None:
    assert spelled("{{ enter() }}\nfloat4 v = {{ x }};\n") == ["float4 v ="]
    assert spelled("for (int i = 0; i < 4; i++) {{ x }}") == ["for (", "int i ="]
    assert spelled("{# int i; #}{% let v = x.read(0) %}{% when a < b %}{{ v }};{% end %}") == []


@pytest.mark.parametrize("name", KERNELS)
def test_templates_spell_no_types_and_are_short(name: str) -> None:
    text = (TEMPLATES / name).read_text(encoding="utf-8")
    assert spelled(text) == []
    assert len(text.splitlines()) <= LONGEST


@pytest.mark.parametrize("name", KERNELS)
def test_no_macro_stands_within_a_macro(name: str) -> None:
    tree = environment().parse((TEMPLATES / name).read_text(encoding="utf-8"))
    for macro in tree.find_all(nodes.Macro):
        assert not [each for part in macro.body for each in part.find_all(nodes.Macro)], macro.name


def test_tags_say_what_is_wrong_with_them() -> None:
    with pytest.raises(jinja2.TemplateSyntaxError, match="each takes a range"):
        environment().from_string("{% each i in sizes %}{% end %}")


def test_every_language_names_every_type() -> None:
    for language in LANGUAGES.values():
        assert language.name_of("floats", 4) in ("float4", "vec4")
        assert language.name_of("rgb", 16) in ("float3", "vec3")
        assert language.name_of("bool", 4) == "bool"
