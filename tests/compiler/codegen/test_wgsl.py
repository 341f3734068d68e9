"""WGSL, printed from the statements of kernels and of intrinsics."""

import re

import pytest
from cases import CASES
from cases.attention import attention
from graphs import Value, call, ints, model, parts, transpose, typed, x, xi
from paths import DIGITS_MODEL

from tflgpu.compiler import Options, build
from tflgpu.compiler.codegen.wgsl import print_kernel
from tflgpu.compiler.errors import RenderError
from tflgpu.compiler.language.expression import Expression, Name, Number, Real, Unary, Word
from tflgpu.compiler.language.primary import Array, Call, Choice, Element, Step
from tflgpu.compiler.language.statement import (
    Assign,
    Copy,
    Declare,
    Evaluate,
    For,
    If,
    Printed,
    Remark,
    Return,
    Statement,
    Statements,
    While,
)
from tflgpu.compiler.language.types import BOOL, FLOAT, FLOATS, INT, INTS, UINT, UINTS
from tflgpu.runtime.plan.validate import validate

# Arrays and variables that the statements below name.
ARRAYS = {
    **{"x": "vec4[]", "y": "vec4[]", "rows": "float[]", "words": "uint[]", "numbers": "int[]"},
    **{"halves": "uvec2[]", "gx": "int", "v": "vec4", "a": "int", "b": "int", "f": "float"},
}
A, B, AT, GX = (Name(name, INT) for name in ("a", "b", "at", "gx"))
F, V, W = Name("f", FLOAT), Name("v", FLOATS), Name("w", UINTS)
X, ROWS, WORDS, NUMBERS = (
    Array(name, 0, type)
    for name, type in (("x", FLOATS), ("rows", FLOAT), ("words", UINT), ("numbers", INT))
)
NONE = Statements(())


def printed(*statements: Statement) -> Printed:
    return print_kernel("some.jinja", Statements(statements), ARRAYS)


def body(*statements: Statement) -> str:
    """Statements in WGSL, not indented as a whole."""
    return "\n".join(lines(printed(*statements)))


def lines(found: Printed) -> list[str]:
    """The same of what was printed, without those that name the arrays that are not used."""
    return [line[2:] for line in found.body.splitlines() if not line.startswith("  _ = &")]


def put(target: Expression, value: Expression, sign: str = "=") -> Assign:
    return Assign(target, sign, value)


def vector(name: str, *values: Expression | float) -> Call:
    return Call(name, *values, type={"i": INTS, "u": UINTS}.get(name[0], FLOATS))


@pytest.mark.parametrize(
    ("statements", "wgsl"),
    [
        ([Declare(INT, "at"), put(AT, GX * 4)], "let at = gx * 4;"),
        ([Declare(INT, "at", value=GX), put(AT, Number(1), "+=")], "var at = gx;\nat += 1;"),
        ([Declare(FLOATS, "sum")], "var sum: vec4f;"),
        ([Declare(FLOAT, "override", value=Real(0.5))], "let override_ = 0.5;"),
        ([put(F, Real(-3.4028235e38))], "f = -3.40282346e+38;"),
        ([Remark("// one by one"), put(F, F)], "// one by one\nf = f;"),
    ],
)
def test_variables_are_let_unless_they_change(statements: list[Statement], wgsl: str) -> None:
    assert body(*statements) == wgsl


def test_declarations_of_arrays_and_of_inner_blocks() -> None:
    assert body(Declare(INTS, "at", 3)) == "var at: array<vec4i, 3>;"
    store = Assign(Element(Name("y"), AT, FLOATS), "=", Name("v", FLOATS), "  // RELU")
    inner = Copy(Statements((Declare(INT, "at", value=Number(1)), store)), repeated=True)
    assert body(inner, inner).startswith("{\n  let at = 1;\n  y[at] = v;  // RELU\n}\n{\n")


def test_statements_that_templates_alone_have() -> None:
    outside = If(GX >= 5, Statements((Return(),)), Statements(()))
    assert body(outside) == "if gx >= 5 { return; }"
    loop = While(A < 3, Statements((Evaluate(Step(A, 1)),)))
    assert body(loop) == "while a < 3 { a++; }"


STEP_A, STEP_B = Evaluate(Step(A, 1)), Evaluate(Step(B, -1))
SMALLER = If(A < 2, Statements((put(A, Number(2)),)), NONE)


@pytest.mark.parametrize(
    ("statement", "wgsl"),
    [
        (If(A < B, Statements((STEP_A,)), Statements((STEP_B,))),
         "if a < b {\n  a++;\n} else {\n  b--;\n}"),
        (If(A < 1, Statements((put(A, Number(1)),)), Statements((SMALLER,))),
         "if a < 1 {\n  a = 1;\n} else if a < 2 { a = 2; }"),
        (For(Declare(INT, "s", value=Number(0)), Name("s") < 4, Evaluate(Step(Name("s"), 1)),
             Statements((put(F, ROWS(Name("s")), "+="),))),
         "for (var s = 0; s < 4; s++) { f += rows[s]; }"),
        (For(None, B > 0, put(B, Number(1), ">>="), Statements((put(A, A, "*="),))),
         "for (; b > 0; b >>= 1u) { a *= a; }"),
        (If((A < B) & Unary("!", B < 3), Statements((STEP_A, Evaluate(Step(B, 1)))), NONE),
         "if a < b && !(b < 3) {\n  a++;\n  b++;\n}"),
    ],
)  # fmt: skip
def test_control_flow_is_that_of_wgsl(statement: Statement, wgsl: str) -> None:
    assert body(statement) == wgsl


WIDE = Call("uvec4", WORDS(0), type=UINTS)
ODD = (((A & B) | A).equals(0)) | ((A < 1) & (B < 2))


@pytest.mark.parametrize(
    ("statement", "wgsl"),
    [
        (put(F, Choice(A < B, F, Real(1.0))), "f = select(1.0, f, a < b);"),
        (put(F, Choice((A < 3) & ((B > 0) | (F > 1.0)), F, Real(1.0))),
         "f = select(1.0, f, (a < 3) & ((b > 0) | (f > 1.0)));"),
        (put(V, Choice(A < 3, X(A), vector("vec4", 0.0))), "v = select(vec4f(0.0), x[a], a < 3);"),
        (put(V, vector("select", vector("vec4", 0.0), V, vector("ivec4", 0, 1, 2, 3) < A)),
         "v = select(vec4f(0.0), v, vec4i(0, 1, 2, 3) < vec4i(a));"),
        (put(V, vector("max", V, 0.0)), "v = max(v, vec4f(0.0));"),
        (put(A, (A >> B) + (A << 3)), "a = (a >> u32(b)) + (a << 3u);"),
        (Declare(UINTS, "w", value=WIDE >> vector("uvec4", 0, 8, 16, 24) & 255),
         "let w = (vec4u(words[0]) >> vec4u(0, 8, 16, 24)) & vec4u(255u);"),
        (Declare(BOOL, "c", value=ODD), "let c = (((a & b) | a) == 0) | ((a < 1) & (b < 2));"),
        (If(ODD, Statements((put(A, B),)), NONE),
         "if ((a & b) | a) == 0 || (a < 1 && b < 2) { a = b; }"),
        (put(F, F - Unary("-", F) - (F - F) * -F), "f = f - (-f) - (f - f) * -f;"),
        (put(V, vector("vec4", A, F, NUMBERS(0), 1)), "v = vec4f(f32(a), f, f32(numbers[0]), 1);"),
        (put(A, Call("floatBitsToInt", F)), "a = bitcast<i32>(f);"),
        (put(F, Call("float", A)), "f = f32(a);"),
        (put(A, Call("int", A)), "a = a;"),
        (put(F, Element(Call("unpackHalf2x16", WORDS(A // 2)), A % 2, FLOAT)),
         "f = unpack2x16float(words[a / 2])[a % 2];"),
        (put(A, Call("bitfieldExtract", A, B * 8, 8)), "a = extractBits(a, u32(b * 8), 8u);"),
    ],
)  # fmt: skip
def test_expressions_have_explicit_types(statement: Statement, wgsl: str) -> None:
    assert body(statement) == wgsl


def test_steps_within_expressions_become_statements() -> None:
    after = Step(A, 1)
    assert lines(printed(put(V, X(after)))) == ["v = x[a];", "a++;"]
    both = lines(printed(put(V, X(after) + X(after) * ROWS(A))))
    assert both == ["v = x[a] + x[a + 1] * rows[a + 2];", "a += 2;"]


def test_intrinsics_of_values_are_functions() -> None:
    found = printed(
        put(V, vector("limitS", V, 0.0, 6.0)),
        put(F, Call("sum_lanes", V)),
        put(F, Call("nan_to", F, 0.0)),
    )
    assert lines(found) == [
        "v = limitS(v, 0.0, 6.0);",
        "f = dot(v, vec4f(1.0));",  # no longer than its call
        "f = nan_to(f, 0.0);",
    ]
    isnan, limit, single, nan_to = found.functions
    assert limit == (
        "fn limitS(v: vec4f, low: f32, high: f32) -> vec4f {\n"
        "  return select(clamp(v, vec4f(low), vec4f(high)), v, isnan(v));\n"
        "}"
    )
    assert isnan.startswith("fn isnan(v: vec4f) -> vec4<bool> {\n  return (bitcast<vec4u>(v) & ")
    assert single.startswith("fn isnan_f32(v: f32) -> bool {\n")
    assert "  return select(v, other, isnan_f32(v));" in nan_to


def test_functions_have_the_same_text_wherever_they_are_called() -> None:
    call = put(A, Call("scale_wide", A, A, A, B, B))
    nested: Statement = call
    for number in (2, 3, 4):
        nested = If(number > B, Statements((nested,)), NONE)
    assert printed(nested).functions == printed(call).functions


def test_parameters_that_change_are_copied() -> None:
    (power,) = printed(put(A, Call("whole_power", A, B))).functions
    assert power.startswith(
        "fn whole_power(given_a: i32, given_b: i32) -> i32 {\n  var a = given_a;\n"
    )


def test_intrinsics_of_arrays_are_written_out() -> None:
    rows = Name("rows")
    store = Evaluate(Call("store_lanes", rows, 4, V))
    found = printed(put(V, vector("load_lanes", rows, A)), store)
    assert found.functions == ()
    assert lines(found) == [
        "v = vec4f(rows[a], rows[a + 1], rows[a + 2], rows[a + 3]);",
        *(f"rows[{place}] = v.{lane};" for place, lane in zip(
            "4567", "xyzw", strict=True)),
    ]  # fmt: skip


def test_arrays_that_work_items_share_words_of_are_atomic() -> None:
    words = Name("words")
    found = printed(
        put(A, Call("uint8_at", words, 5)),
        Evaluate(Call("set_byte", words, GX, A)),
        put(WORDS(0), Word(3)),
    )
    assert found.atomic == {"words"}
    assert lines(found) == [
        "a = i32(extractBits(atomicLoad(&words[1]), 8u, 8u));",
        "atomicAnd(&words[gx >> 2u], ~(255u << u32((gx & 3) * 8)));",
        "atomicOr(&words[gx >> 2u], (u32(a) & 255u) << u32((gx & 3) * 8));",
        "atomicStore(&words[0], 3u);",
    ]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            put(F, Call("lgamma", F)),
            "some.jinja, for WGSL: no function lgamma in WGSL: add it to .* or define",
        ),
        (put(F, Name("missing")), "no variable missing"),
        (put(F, Choice(A < 1, ROWS(Step(B, 1)), F)), "changes a variable, in any case"),
        (If(Step(A, 1) < 1, NONE, NONE), "changes a variable, which WGSL cannot"),
        (
            put(V, vector("load_lanes", Name("rows"), Step(A, 1))),
            "takes a variable that changes several times",
        ),
        (put(F, Call("power", F, A)), "no power of float, int in compiler/intrinsics"),
    ],
)
def test_statements_that_cannot_be_printed_are_an_error(statement: Statement, message: str) -> None:
    with pytest.raises(RenderError, match=message):
        printed(statement)


def test_long_lines_are_continued() -> None:
    terms = [ROWS(A * number) for number in range(2, 14)]
    first, second = lines(printed(put(F, sum(terms[1:], terms[0]))))
    assert f"{first} {second.strip()}" == f"f = {' + '.join(map(str, terms))};"
    assert max(len(first), len(second)) <= 100
    assert second.startswith("    + rows")


def test_arrays_that_a_kernel_does_not_name_are_bound_in_any_case() -> None:
    store = Assign(Element(Name("y"), 0), "=", Number(1))
    text = print_kernel("some.jinja", Statements((store,)), {"x": "int[]", "y": "int[]"}).body
    assert text == "  _ = &x;\n  y[0] = 1;"


def test_parameters_of_functions_are_no_arrays_of_the_same_name() -> None:
    power = Assign(Name("gx"), "=", Call("whole_power", GX, GX))
    text = print_kernel("some.jinja", Statements((power,)), {"a": "int[]", "gx": "int"}).body
    assert text == "  _ = &a;\n  gx = whole_power(gx, gx);"


def test_buffers_that_are_written_elsewhere_are_bound_to_be_written() -> None:
    """WebGPU takes no buffer as read-only in a dispatch that writes another part of it."""
    together = model({case.name: case.value for case in CASES[::61]})
    for content in (DIGITS_MODEL, together.content):
        compiled = build(content, Options(target="wgsl", device="webgpu", fallback="none"))
        plan = compiled.plan
        for dispatch in plan.dispatches:
            source = compiled.sources[plan.kernels[dispatch.kernel].file]
            access = re.findall(r"@binding\(\d\) var<storage, (\w+)>", source)
            for argument, found in zip(dispatch.arguments, access, strict=True):
                assert found == "read_write" or not (argument.writes or argument.beside_writes)


def test_arrays_have_as_many_elements_as_are_bound() -> None:
    """Bindings may not be smaller, and what lies past the last element could not be reached."""
    sizes = {"f32": 4, "i32": 4, "u32": 4, "atomic<u32>": 4, "vec4f": 16, "vec4u": 16, "vec2u": 8}
    together = model({case.name: case.value for case in CASES[::61]})
    compiled = build(together.content, Options(target="wgsl", device="webgpu", fallback="none"))
    counted = 0
    for dispatch in compiled.plan.dispatches:
        source = compiled.sources[compiled.plan.kernels[dispatch.kernel].file]
        arrays = re.findall(r"var<storage, \w+> \w+: array<(.+?)(?:, (\d+))?>;", source)
        for argument, (element, count) in zip(dispatch.arguments, arrays, strict=True):
            if count:
                assert int(count) == argument.size // sizes[element]
                counted += 1
    assert counted > 50


def test_views_of_a_tensor_are_read_through_one_binding() -> None:
    """Bindings that are written, or are bound as such, must not overlap."""
    first, second = parts("SPLIT", 2, ints(3), call("EXP", x(1, 4, 4, 8)), num_splits=2)
    content = model({"y": call("SUB", first, second)}).content
    compiled = build(content, Options(target="wgsl", device="webgpu", fallback="none"))
    plan = compiled.plan
    last = plan.dispatches[-1]
    assert last.label.startswith("SUB") and len(last.arguments) == 2
    place = "index / 4 * 8 + index % 4"
    source = compiled.sources[plan.kernels[last.kernel].file]
    assert f"let v = x[{place}] - x[{place} + 4];" in source


def test_kernels_that_compute_in_half_precision_ask_for_it() -> None:
    options = Options(target="wgsl", device="mali", precision="f16", fallback="none")
    compiled = build(DIGITS_MODEL, options)
    halved = [kernel for kernel in compiled.plan.kernels if kernel.extensions]
    assert halved
    for kernel in compiled.plan.kernels:
        assert ("\nenable f16;\n" in compiled.sources[kernel.file]) == (kernel in halved)
        assert kernel.extensions in ((), ("shader-f16",))


PLACES = typed("int32", "MINIMUM", transpose(xi(4, 3, draw="places"), 1, 0), xi(3, 4))
MOVED = transpose(x(8, 16), 1, 0)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(typed("int32", "GATHER", PLACES, PLACES, axis=0), id="indices of themselves"),
        pytest.param(attention(MOVED, MOVED, MOVED), id="keys and values that are the queries"),
        pytest.param(
            call("DYNAMIC_UPDATE_SLICE", MOVED, MOVED, xi(2)), id="a tensor that replaces itself"
        ),
    ],
)
def test_a_tensor_in_several_roles_is_bound_once(value: Value) -> None:
    built = build(model({"y": value}).content, Options(target="wgsl", device="webgpu"))
    for launched in built.plan.dispatches:
        places = [(item.region, item.index, item.offset) for item in launched.arguments]
        assert len(set(places)) == len(places)
    validate(built.plan)
