"""Statements: their text, and where braces stand."""

import pytest

from tflgpu.compiler.language.expression import Name, Number, Operation
from tflgpu.compiler.language.language import GLSL, OPENCL
from tflgpu.compiler.language.primary import Choice, Element, Step
from tflgpu.compiler.language.printing import CPrinter
from tflgpu.compiler.language.statement import (
    Assign,
    Copy,
    Declare,
    Evaluate,
    For,
    If,
    Return,
    Statement,
    While,
    assignment,
    body,
    statements,
)
from tflgpu.compiler.language.types import FLOAT, FLOATS
from tflgpu.compiler.language.wrapping import wrapped


def text(*items: Statement, visible: tuple[str, ...] = ()) -> str:
    return CPrinter(OPENCL, 8, visible).printed(body(*items)).body


def loop(*items: Statement, hint: str = "") -> For:
    start = Declare("int", "i", value=Number(0))
    return For(start, COUNTER < 3, Evaluate(Step(COUNTER, 1)), body(*items), hint)


A, AT, COUNTER, GX = (Name(name) for name in ("a", "at", "i", "gx"))
V = Declare("floats", "v", value=Element(Name("x"), 0, FLOATS))
USE = Assign(Element(Name("y"), 0, FLOATS), "=", Name("v", FLOATS))


def test_types_are_named_by_the_language() -> None:
    arrays = body(Declare("floats", "sum", 3), Declare("ints", "at"), Declare("float", "total"))
    assert text(*arrays.items).split("\n") == [
        *("  float8 sum[3];", "  int8 at;", "  float total;")
    ]
    in_glsl = CPrinter(GLSL, 4).printed(arrays).body
    assert "  vec4 sum[3];\n  ivec4 at;" in in_glsl


def test_a_declaration_takes_the_assignment_after_it() -> None:
    at = Declare("int", "at")
    assert text(at, Assign(AT, "=", GX, "  // here")) == "  int at = gx;  // here"
    assert text(at, Assign(AT, "+=", GX)) == "  int at;\n  at += gx;"
    assert text(Declare("int", "at", 2), Assign(AT, "=", GX)) == "  int at[2];\n  at = gx;"
    assert text(Declare("int", "a"), USE, Assign(A, "=", Number(1))).count("int a;") == 1


def test_a_long_line_continues_where_it_is_bound_least() -> None:
    below, rival = (Operation(sign, A, GX) for sign in ("<", ">"))
    chosen = Choice(below, Choice(rival, A, GX) + 1, GX)
    assert wrapped(f"bool before = {chosen};", 45) == [
        "bool before = a < gx ? (a > gx ? a : gx) + 1",
        "    : gx;",
    ]
    assert wrapped(f"bool before = {chosen};", 43)[0] == "bool before = a < gx"
    call = "v = clamp(twice(twice(v << 20, 1073741824) + twice(255 << 20, 17)), 0);"
    assert wrapped(call, 50) == [
        "v = clamp(twice(twice(v << 20, 1073741824)",
        "    + twice(255 << 20, 17)), 0);",
    ]


def test_a_remark_stands_above_a_line_that_it_makes_too_long() -> None:
    name = Name("x" * 80)
    assert text(Assign(A, "=", name, "  // ADD")) == f"  a = {name};  // ADD"
    assert text(Assign(A, "=", name, "  // MULTIPLY_ADD")) == f"  // MULTIPLY_ADD\n  a = {name};"


def test_neighbours_under_one_condition_are_joined() -> None:
    changes = Name("v", changes=True) < 1
    first, second = Declare("int", "i", value=GX), Declare("int", "i", value=AT)
    both = [If(GX < 1, body(USE), body()), If(GX < 1, body(Assign(A, "=", AT)), body())]
    assert text(*both) == "  if (gx < 1) {\n    y[0] = v;\n    a = at;\n  }"
    again = text(*(If(GX < 1, body(each), body()) for each in (first, second)))
    assert again.count("if") == 1 and again.count("    {\n      int i") == 2
    apart = [If(changes, body(USE), body()), If(changes, body(USE), body())]
    assert text(*apart).count("if") == text(both[0], USE, both[1]).count("if") == 2


def test_an_assignment_says_what_happens_to_its_target() -> None:
    """Only where the target comes first, since the order of floats is that of the formula."""
    v, w = Name("v", FLOAT), Name("w", FLOAT)
    found = [
        text(assignment(v, value)) for value in (v + w, v - (w + 1.0), v / (w * w), w + v, v < w)
    ]
    assert found == [
        *("  v += w;", "  v -= w + 1.0f;", "  v /= w * w;"),
        *("  v = w + v;", "  v = v < w;"),
    ]
    assert text(assignment(v, v + w + w)) == "  v = v + w + w;"


def test_hints_are_found_within_statements() -> None:
    hinted = loop(USE, hint="#pragma unroll")
    assert body(If(A > 0, body(), body(Copy(body(hinted))))).hinted
    assert body(loop(hinted)).hinted
    assert body(While(A > 0, body(hinted))).hinted
    assert not body(loop(USE), V, USE).hinted


def test_a_copy_has_braces_only_where_names_meet() -> None:
    alone = "  float8 v = x[0];\n  y[0] = v;"
    assert text(Copy(body(V, USE))) == alone
    assert text(Copy(body(Copy(body(V, USE))))) == alone
    assert text(Copy(body(V, USE)), Copy(body(V, USE))).count("{") == 2
    assert text(Copy(body(V, USE)), V, USE).startswith("  {\n    float8 v")
    assert text(Copy(body(USE)), V, USE).count("{") == 0
    apart = Copy(body(Copy(body(V, USE)), USE))
    assert text(V, apart).split("\n")[1:] == [
        *("  {", "    float8 v = x[0];", "    y[0] = v;", "  }", "  y[0] = v;")
    ]
    rounds = (Copy(body(V, USE), repeated=True), Copy(body(V, USE), repeated=True))
    assert text(*rounds).count("{") == 2


def test_nothing_is_called_like_a_parameter() -> None:
    with pytest.raises(AssertionError, match="declares v, which is a parameter"):
        text(loop(V, USE), visible=("v",))


def test_a_condition_around_another_one_alone_holds_with_it() -> None:
    inner = If(A > 1, body(USE), body())
    assert text(If(A > 0, body(Copy(body(inner))), body())) == "  if (a > 0 && a > 1) y[0] = v;"
    assert text(If(A > 0, body(inner, USE), body())).count("if") == 2
    either = If(A > 1, body(USE), body(USE))
    assert text(If(A > 0, body(either), body())).startswith("  if (a > 0) {")


def test_a_name_declared_later_outside_is_no_reason_for_braces() -> None:
    around = loop(Copy(body(V, USE)), USE)
    assert text(around, V).count("{") == 1
    assert text(V, around).count("{") == 2


def test_bodies_of_one_line_have_no_braces() -> None:
    head = "  for (int i = 0; i < 3; i++)"
    assert text(loop(USE, hint="#pragma unroll")) == f"  #pragma unroll\n{head} y[0] = v;"
    assert text(While(A > 0, body(USE))) == "  while (a > 0) y[0] = v;"
    long = Assign(A, "=", Name("v" * 85))
    assert text(loop(long)).split("\n") == [head, f"    a = {'v' * 85};"]
    assert text(If(A > 0, body(USE), body())) == "  if (a > 0) y[0] = v;"
    assert text(If(A > 0, body(Return()), body())) == "  if (a > 0) return;"
    assert text(If(A > 0, body(USE), body(USE))) == "  if (a > 0) y[0] = v;\n  else y[0] = v;"
    assert text(If(A > 0, body(loop(USE)), body())).split("\n")[::2] == ["  if (a > 0) {", "  }"]
    nested = If(A > 0, body(If(A > 1, body(USE), body())), body(USE))
    assert text(nested).split("\n")[0] == "  if (a > 0) {"
    assert text(If(A > 0, body(), body())) == ""


def test_long_lines_are_continued_before_an_operator() -> None:
    v = Name("v", FLOAT)
    head, first, second, end = text(loop(Assign(v, "=", sum([v] * 30, v)))).split("\n")
    assert (head, end) == ("  for (int i = 0; i < 3; i++) {", "  }")
    assert first.startswith("    v = v") and second.startswith("        + v")
    assert 90 < len(first) <= 100


def test_between_statements_is_nothing_but_white_space() -> None:
    found = statements(["\n", Step(A, 1), body(V), "  \n", body(), body(USE)])
    assert text(*found.items).split("\n") == ["  a++;", "  float8 v = x[0];", "  y[0] = v;"]
    with pytest.raises(TypeError, match="'a = b;' is no statement"):
        statements([body(V), " a = b;\n"])
