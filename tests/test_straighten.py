"""Emitted kernels hold no loop of one turn and no block that only holds statements."""

from __future__ import annotations

import re
from inspect import cleandoc

import pytest
from expressions import call, w, x
from rewrites import PROFILES, compiled

from tflgpu.compiler.codegen.straighten import simplify, straighten

ONE_TURN = re.compile(r"for \(int (\w+) = (\d+); \1 < (\d+);")


def straight(text: str) -> str:
    return straighten(cleandoc(text)).rstrip("\n")


def test_a_loop_of_one_turn_becomes_its_statements() -> None:
    loop = """
        unroll
        for (int n = 0; n < 1; n++) {
            floatS start = constants[gs * 1 + n];
          unroll
          for (int p = 0; p < 4; p++) sum[n * 4 + p] = start;  // once
        }
    """
    assert straight(loop) == cleandoc(
        """
        floatS start = constants[gs];
        unroll
        for (int p = 0; p < 4; p++) sum[p] = start;  // once
        """
    )


def test_a_loop_over_one_turn_keeps_its_turns() -> None:
    assert straight(
        "for (int s = 0; s < 3; s++)\n for (int i = 2; i < 3; i++) { a(i); b(s); }"
    ) == ("for (int s = 0; s < 3; s++) {\n  a(2);\n  b(s);\n}")


def test_a_block_goes_unless_its_names_clash() -> None:
    assert straight("if (a) {\n{ float v = b[0]; c(v); }\n} else { d(); }") == (
        "if (a) {\n  float v = b[0];\n  c(v);\n} else {\n  d();\n}"
    )
    clash = "float v = 1.0f;\n{\n  float v = 2.0f;\n}"
    assert straight(clash) == clash
    assert straight("{ int a = f(1, 2), b = 3; }\n{ int b = 4; }") == (
        "int a = f(1, 2), b = 3;\n{\n  int b = 4;\n}"
    )


def test_a_loop_that_is_left_early_stays() -> None:
    early = "for (int k = 0; k < 1; k++) {\n  if (a) continue;\n  b();\n}"
    assert straight(early) == early
    inner = "for (int k = 0; k < 1; k++) {\n  for (int i = 0; i < 3; i++) {\n    continue;\n  }\n}"
    assert straight(inner) == "for (int i = 0; i < 3; i++) {\n  continue;\n}"


@pytest.mark.parametrize(
    ("long", "short"),
    [
        ("a[0 * 24 + p]", "a[p]"),
        ("a[gs * 1 + 0]", "a[gs]"),
        ("f(x + 0 * 2, 0, 191)", "f(x, 0, 191)"),
        ("a[((gs * 3 + 0) * 3 + k) * 5]", "a[(gs * 3 * 3 + k) * 5]"),
        ("b * 0 + c", "b * 0 + c"),
        ("n / (4 * m)", "n / (4 * m)"),
        ("v + 0.5f * 1.0f", "v + 0.5f * 1.0f"),
        ("a + 0 * b[i]", "a + 0 * b[i]"),
        ("a - 0 + b * 10", "a + b * 10"),
    ],
)
def test_arithmetic_loses_what_changes_nothing(long: str, short: str) -> None:
    assert simplify(long) == short


@pytest.mark.parametrize("name", PROFILES)
def test_emitted_kernels_are_straight(name: str) -> None:
    thin = call("CONV_2D", x(1, 5, 7, 3), w(3, 3, 3, 3), padding="SAME", stride_h=1, stride_w=1)
    for source in compiled(call("RELU", thin), name).sources.values():
        turns = [int(end) - int(first) for _, first, end in ONE_TURN.findall(source)]
        assert 1 not in turns and not re.search(r"^ *\{$", source, re.M), source
