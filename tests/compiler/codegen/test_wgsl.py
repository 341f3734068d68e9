"""WGSL, printed from the statements of kernels and from definitions in GLSL."""

import re

import pytest
from cases import CASES
from cases.attention import attention
from graphs import Value, call, ints, model, parts, transpose, typed, x, xi
from paths import DIGITS_MODEL

from tflgpu.compiler import Options, build
from tflgpu.compiler.codegen.wgsl import print_kernel
from tflgpu.compiler.codegen.wgsl.definitions import Function
from tflgpu.compiler.codegen.wgsl.parse import ParseError, parse_definitions
from tflgpu.compiler.errors import RenderError
from tflgpu.compiler.language.expression import Name, Number
from tflgpu.compiler.language.primary import Call, Element, Step
from tflgpu.compiler.language.statement import (
    Assign,
    Copy,
    Declare,
    Evaluate,
    If,
    Printed,
    Return,
    Statement,
    Statements,
    While,
)
from tflgpu.compiler.language.types import FLOATS, INT, INTS
from tflgpu.runtime.plan.validate import validate

# Arrays and variables that the texts below name.
ARRAYS = {
    **{"x": "vec4[]", "y": "vec4[]", "rows": "float[]", "words": "uint[]", "numbers": "int[]"},
    **{"halves": "uvec2[]", "gx": "int", "v": "vec4", "a": "int", "b": "int", "f": "float"},
}


def printed(text: str) -> Printed:
    """The statements of a text in GLSL in WGSL."""
    (function,) = parse_definitions(f"int of() {{\n{text}\n}}")
    assert isinstance(function, Function)
    return print_kernel("some.jinja", function.body, ARRAYS)


def body(*statements: Statement) -> str:
    """Statements in WGSL, not indented as a whole."""
    return "\n".join(lines(print_kernel("some.jinja", Statements(statements), ARRAYS)))


def lines(found: Printed) -> list[str]:
    """The same of what was printed, without those that name the arrays that are not used."""
    return [line[2:] for line in found.body.splitlines() if not line.startswith("  _ = &")]


@pytest.mark.parametrize(
    ("text", "wgsl"),
    [
        ("int at; at = gx * 4;", "let at = gx * 4;"),
        ("int at = gx; at += 1;", "var at = gx;\nat += 1;"),
        ("vec4 sum;", "var sum: vec4f;"),
        ("float override = 0.5f;", "let override_ = 0.5;"),
        ("f = -3.4028235e+38f;", "f = -3.40282346e+38;"),
        ("// one by one\nf = f;", "// one by one\nf = f;"),
    ],
)
def test_variables_are_let_unless_they_change(text: str, wgsl: str) -> None:
    assert "\n".join(lines(printed(text))) == wgsl


A, AT, GX = (Name(name) for name in ("a", "at", "gx"))


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


@pytest.mark.parametrize(
    ("text", "wgsl"),
    [
        ("if (a < b) a++; else b--;", "if a < b {\n  a++;\n} else {\n  b--;\n}"),
        ("if (a < 1) a = 1; else if (a < 2) a = 2;",
         "if a < 1 {\n  a = 1;\n} else if a < 2 { a = 2; }"),
        ("for (int s = 0; s < 4; s++) f += rows[s];",
         "for (var s = 0; s < 4; s++) { f += rows[s]; }"),
        ("for (; b > 0; b >>= 1) a *= a;", "for (; b > 0; b >>= 1u) { a *= a; }"),
        ("if (a < b && !(b < 3)) { a++; b++; }", "if a < b && !(b < 3) {\n  a++;\n  b++;\n}"),
    ],
)  # fmt: skip
def test_control_flow_is_that_of_wgsl(text: str, wgsl: str) -> None:
    assert "\n".join(lines(printed(text))) == wgsl


@pytest.mark.parametrize(
    ("text", "wgsl"),
    [
        ("f = a < b ? f : 1.0f;", "f = select(1.0, f, a < b);"),
        (
            "f = a < 3 && (b > 0 || f > 1.0f) ? f : 1.0f;",
            "f = select(1.0, f, (a < 3) & ((b > 0) | (f > 1.0)));",
        ),
        ("v = a < 3 ? x[a] : vec4(0.0f);", "v = select(vec4f(0.0), x[a], a < 3);"),
        ("v = mix(vec4(0.0), v, lessThan(ivec4(0, 1, 2, 3), ivec4(a)));",
         "v = select(vec4f(0.0), v, vec4i(0, 1, 2, 3) < vec4i(a));"),
        ("v = max(v, 0.0f);", "v = max(v, vec4f(0.0));"),
        ("a = (a >> b) + (a << 3);", "a = (a >> u32(b)) + (a << 3u);"),
        ("uvec4 w = uvec4(words[0]) >> uvec4(0, 8, 16, 24) & 255u;",
         "let w = (vec4u(words[0]) >> vec4u(0, 8, 16, 24)) & vec4u(255u);"),
        ("bool c = (a & b | a) == 0 || a < 1 && b < 2;",
         "let c = (((a & b) | a) == 0) | ((a < 1) & (b < 2));"),
        ("if ((a & b | a) == 0 || a < 1 && b < 2) { a = b; }",
         "if ((a & b) | a) == 0 || (a < 1 && b < 2) { a = b; }"),
        ("a = a - -b - (a - b) * -a;", "a = a - (-b) - (a - b) * -a;"),
        ("v = vec4(a, f, numbers[0], 1);", "v = vec4f(f32(a), f, f32(numbers[0]), 1);"),
        ("a = floatBitsToInt(f); f = float(a); a = int(a);",
         "a = bitcast<i32>(f);\nf = f32(a);\na = a;"),
        ("f = unpackHalf2x16(words[a / 2])[a % 2];", "f = unpack2x16float(words[a / 2])[a % 2];"),
        ("a = bitfieldExtract(a, b * 8, 8);", "a = extractBits(a, u32(b * 8), 8u);"),
    ],
)  # fmt: skip
def test_expressions_have_explicit_types(text: str, wgsl: str) -> None:
    assert "\n".join(lines(printed(text))) == wgsl


def test_steps_within_expressions_become_statements() -> None:
    assert lines(printed("v = x[a++];")) == ["v = x[a];", "a++;"]
    both = lines(printed("v = x[a++] + x[a++] * rows[a];"))
    assert both == ["v = x[a] + x[a + 1] * rows[a + 2];", "a += 2;"]


def test_intrinsics_of_values_are_functions() -> None:
    found = printed("v = limitS(v, 0.0f, 6.0f); f = sum_lanes(v); f = nan_to(f, 0.0f);")
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
    call = "a = scale_wide(a, a, a, b, b);"
    nested = printed(f"if (a < b) {{ if (b < 3) {{ if (b < 2) {{ {call} }} }} }}").functions
    assert nested == printed(call).functions


def test_parameters_that_change_are_copied() -> None:
    (power,) = printed("a = whole_power(a, b);").functions
    assert power.startswith(
        "fn whole_power(given_a: i32, given_b: i32) -> i32 {\n  var a = given_a;\n"
    )


def test_intrinsics_of_arrays_are_written_out() -> None:
    found = printed("v = load_lanes(rows, a); store_lanes(rows, 4, v);")
    assert found.functions == ()
    assert lines(found) == [
        "v = vec4f(rows[a], rows[a + 1], rows[a + 2], rows[a + 3]);",
        *(f"rows[{place}] = v.{lane};" for place, lane in zip(
            "4567", "xyzw", strict=True)),
    ]  # fmt: skip


def test_arrays_that_work_items_share_words_of_are_atomic() -> None:
    found = printed("a = uint8_at(words, 5); set_byte(words, gx, a); words[0] = 3u;")
    assert found.atomic == {"words"}
    assert lines(found) == [
        "a = i32(extractBits(atomicLoad(&words[1]), 8u, 8u));",
        "atomicAnd(&words[gx >> 2u], ~(255u << u32((gx & 3) * 8)));",
        "atomicOr(&words[gx >> 2u], (u32(a) & 255u) << u32((gx & 3) * 8));",
        "atomicStore(&words[0], 3u);",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "f = lgamma(f);",
            "some.jinja, for WGSL: no function lgamma in WGSL: add it to .* or define",
        ),
        ("f = missing;", "no variable missing"),
        ("f = a < 1 ? rows[b++] : f;", "changes a variable, in any case"),
        ("if (a++ < 1) a = 1;", "changes a variable, which WGSL cannot"),
        ("v = load_lanes(rows, a++);", "takes a variable that changes several times"),
        ("f = power(f, a);", "no power of float, int in templates/intrinsics.toml"),
    ],
)
def test_statements_that_cannot_be_printed_are_an_error(text: str, message: str) -> None:
    with pytest.raises(RenderError, match=message):
        printed(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f = f @ f;", r"expected ';', not '@', in: int of \( \) { f = f @ f"),
        ("f = (f;", r"expected '\)', not ';', in: int of \( \) { f = \( f ;"),
        ("if (a < 1) {", r"expected '\(', not '', in: .* < 1 \) { "),
    ],
)
def test_definitions_that_cannot_be_read_are_an_error(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        printed(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#define twice(v) (v) @ 2", r"expected '', not '@', in: \( v \) @ 2"),
        ("float twice(float", "the text ends early: float twice \\( float"),
        ("float", "the text ends early: float"),
    ],
)
def test_definitions_are_read_to_their_end(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse_definitions(text)


def test_long_lines_are_continued() -> None:
    terms = " + ".join(f"rows[{number} * a]" for number in range(12))
    first, second = lines(printed(f"f = {terms};"))
    assert f"{first} {second.strip()}" == f"f = {terms};"
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
