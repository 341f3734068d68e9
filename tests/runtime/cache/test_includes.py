"""Sources that include other files of the machine are refused, however that is written."""

from pathlib import Path

import pytest
from plans import chain
from plans.chain import Parts

from tflgpu.runtime import PlanError
from tflgpu.runtime.cache.variant import read_variant


def beginning_with(text: str) -> Parts:
    """The chain, whose first kernel's file begins with a text."""
    from dataclasses import replace
    from hashlib import sha256

    parts = chain()
    first, *others = parts.plan.kernels
    source = text + parts.sources[first.file]
    record = replace(first, sha256=sha256(source.encode()).digest())
    changed = parts.replacing(kernels=(record, *others))
    return replace(changed, sources={**parts.sources, first.file: source})


@pytest.mark.parametrize(
    "text",
    [
        '#include "/etc/passwd"\n',
        "#include </etc/passwd>\n",
        '  #  include "x"\n',
        '#/* */include "x"\n',
        '#/* \n */ include "x"\n',
        '#inc\\\nlude "x"\n',
        '#inc\\\r\nlude "x"\n',
        '%:include "x"\n',
        '??=include "x"\n',
        '#inc\\ \t\nlude "x"\n',
        '#inc\\\rlude "x"\n',
        '// ??/\n#include "x"\n',
        '/*\n// */ #include "x"\n',
        '// x\r#include "x"\n',
        'int i;  // #include "x"\n',
        'int i; /**/ /*\n*/ /**/ # /**/ include "x"\n',
        '#import "x"\n',
        '#include_next "x"\n',
        '#embed "x"\n',
    ],
)
def test_includes_are_refused(text: str, tmp_path: Path) -> None:
    folder = beginning_with(text).write(tmp_path)
    with pytest.raises(PlanError, match=r"kernels/.* includes another file"):
        _ = read_variant(folder).sources


@pytest.mark.parametrize(
    "text", ["// x = #include <x>\n", "\n\t // %:import\n", "#" + "/**/" * 999 + "\n"]
)
def test_comments_are_not(text: str, tmp_path: Path) -> None:
    """Names of a model stand there, which may be any text."""
    assert read_variant(beginning_with(text).write(tmp_path)).sources


def test_other_directives_are_not(tmp_path: Path) -> None:
    text = "#define SIZE 3  // includes nothing\n#pragma unroll\n"
    assert read_variant(beginning_with(text).write(tmp_path)).sources
