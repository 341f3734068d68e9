"""Statements: their text, and where braces stand."""

from __future__ import annotations

from tflgpu.compiler.language import FLOAT, GLSL, OPENCL, Name
from tflgpu.compiler.language.statement import (
    Assign,
    Copy,
    Declare,
    If,
    Line,
    Loop,
    Printer,
    Statement,
    Statements,
    assignment,
    statements,
)


def text(*items: Statement, visible: tuple[str, ...] = ()) -> str:
    return Printer(OPENCL, 8).text(Statements(items), frozenset(visible))


def body(*items: Statement) -> Statements:
    return Statements(items)


V = Declare("floats", "v", value="x[0]")
USE = Line("y[0] = v;")


def test_types_are_named_by_the_language() -> None:
    arrays = body(Declare("floats", "sum", 3), Declare("ints", "at"), Declare("float", "total"))
    assert Printer(OPENCL, 8).text(arrays, frozenset()).split("\n") == [
        *("  float8 sum[3];", "  int8 at;", "  float total;")
    ]
    assert "  vec4 sum[3];\n  ivec4 at;" in Printer(GLSL, 4).text(arrays, frozenset())


def test_a_declaration_takes_the_assignment_after_it() -> None:
    assert text(Declare("int", "at"), Assign("at", "=", "gx", "  // here")) == (
        "  int at = gx;  // here"
    )
    assert text(Declare("int", "at"), Assign("at", "+=", "gx")) == "  int at;\n  at += gx;"
    assert text(Declare("int", "at", 2), Assign("at", "=", "gx")) == "  int at[2];\n  at = gx;"
    assert text(Declare("int", "a"), USE, Assign("a", "=", "1")).count("int a;") == 1


def test_an_assignment_says_what_happens_to_its_target() -> None:
    """Only where the target comes first, since the order of floats is that of the formula."""
    v, w = Name("v", FLOAT), Name("w", FLOAT)
    found = [
        text(assignment("v", value)) for value in (v + w, v - (w + 1.0), v / (w * w), w + v, v < w)
    ]
    assert found == [
        *("  v += w;", "  v -= w + 1.0f;", "  v /= w * w;"),
        *("  v = w + v;", "  v = v < w;"),
    ]
    assert text(assignment("v", v + w + w)) == "  v = v + w + w;"


def test_hints_are_found_within_statements() -> None:
    loop = Loop("for (;;)", body(USE), "#pragma unroll")
    assert body(If("a", body(), body(Copy(body(loop))))).hinted
    assert body(Loop("for (;;)", body(loop))).hinted
    assert not body(Loop("for (;;)", body(USE)), V, USE).hinted


def test_a_copy_has_braces_only_where_names_meet() -> None:
    alone = "  float8 v = x[0];\n  y[0] = v;"
    assert text(Copy(body(V, USE))) == alone
    assert text(Copy(body(Copy(body(V, USE))))) == alone
    assert text(Copy(body(V, USE)), Copy(body(V, USE))).count("{") == 1
    assert text(Copy(body(V, USE)), V, USE).startswith("  {\n    float8 v")
    assert text(Copy(body(V, USE)), USE, visible=("v",)).startswith("  {\n")
    assert text(Copy(body(USE)), V, USE).count("{") == 0
    rounds = (Copy(body(V, USE), repeated=True), Copy(body(V, USE), repeated=True))
    assert text(*rounds).count("{") == 2


def test_a_name_declared_later_outside_is_no_reason_for_braces() -> None:
    loop = Loop("for (;;)", body(Copy(body(V, USE)), USE))
    assert text(loop, V).count("{") == 1
    assert text(V, loop).count("{") == 2


def test_bodies_of_one_line_have_no_braces() -> None:
    assert text(Loop("for (;;)", body(USE), "#pragma unroll")) == (
        "  #pragma unroll\n  for (;;) y[0] = v;"
    )
    long = Line(f"y[0] = {'v' * 85};")
    assert text(Loop("for (;;)", body(long))).split("\n") == ["  for (;;)", f"    {long.text}"]
    assert text(If("a", body(USE), body())) == "  if (a) y[0] = v;"
    assert text(If("a", body(USE), body(USE))) == "  if (a) y[0] = v;\n  else y[0] = v;"
    nested = If("a", body(If("b", body(USE), body())), body(USE))
    assert text(nested).split("\n")[0] == "  if (a) {"
    assert text(If("a", body(), body())) == ""


def test_long_lines_are_continued_before_an_operator() -> None:
    long = Line("y[0] = " + "v + " * 30 + "v;")
    head, first, second, end = text(Loop("for (;;)", body(long))).split("\n")
    assert (head, end) == ("  for (;;) {", "  }")
    assert first.startswith("    y[0] = v") and second.startswith("        + v")
    assert 90 < len(first) <= 100


def test_text_between_statements_is_of_lines() -> None:
    found = statements(["\n", "a();\n", " b();", body(V), "  \n", body(), "c();"])
    assert found.items == (Line("a();"), Line("b();"), V, Line("c();"))
    assert found.length == 4
