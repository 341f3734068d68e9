"""Kernels for several sizes: which of them become one, and what stays a constant."""

from collections.abc import Callable

import pytest

from tflgpu.compiler.codegen.kernel_source import KernelSource, Parameter
from tflgpu.compiler.codegen.shared_kernels import SHARED, Shared, shared
from tflgpu.compiler.codegen.wgsl import print_kernel
from tflgpu.compiler.language.expression import Expression, Name, Number, Real
from tflgpu.compiler.language.functions import maximum
from tflgpu.compiler.language.language import WGSL
from tflgpu.compiler.language.primary import Call, Choice, Element, Numeral
from tflgpu.compiler.language.statement import Assign, Declare, Statement, Statements
from tflgpu.compiler.language.types import FLOATS, INT, INTS

LITTLE = 1
MOST = 4
X, GX, V = Name("x"), Name("gx"), Name("v", FLOATS)


def kernel(
    *statements: Statement, count: int = 8, group: int = 32, arrays: int = 1
) -> KernelSource:
    """A kernel with arrays, of which the first is called x."""
    names = ["x", "other", "third", "fourth"][:arrays]
    types = {"gx": "int", "v": "vec4", "word": "uint", **dict.fromkeys(names, "vec4[]")}
    return KernelSource(
        template="some.jinja",
        name="some",
        language=WGSL,
        lanes=4,
        parameters=tuple(Parameter(name, "vec4", True, 0, True, count) for name in names),
        group=(group, 1, 1),
        axes=((0, "gx"),),
        shared=(),
        half=False,
        intrinsics=frozenset(),
        printed=print_kernel("some.jinja", Statements(statements), types),
        hinted=False,
        on_processor=False,
    )


def stored(index: Expression | int, value: Expression = V) -> Statement:
    return Assign(Element(X, index, FLOATS), "=", value)


def together(*kernels: KernelSource) -> list[Shared]:
    """What computes kernels, none of which does much work."""
    much = kernel(stored(GX, Real(0.0)))
    work = {**dict.fromkeys(kernels, LITTLE), much: round(len(kernels) / SHARED)}
    found = shared(work, MOST)
    assert found[much] == Shared(much)
    return [found[each] for each in kernels]


def test_sizes_are_read_once_and_what_is_the_same_stays() -> None:
    one, other = together(*(kernel(stored(maximum(GX * n + 4, n))) for n in (7, 9)))
    assert one.source == other.source
    assert (one.sizes, other.sizes) == ((7,), (9,))
    text = one.source.text
    assert "x: array<vec4f, 8>;\n" in text
    assert "@binding(1) var<storage, read> sizes: array<i32, 1>;\n" in text
    assert text.splitlines()[-3:-1] == [
        "  let size0 = sizes[0];",
        "  x[max(gx * size0 + 4, size0)] = v;",
    ]


@pytest.mark.parametrize(
    ("statement", "size"),
    [
        (lambda n: Declare(INT, "at", value=Number(n)), "let at = size0;"),
        (lambda n: Assign(GX, "+=", Number(n)), "gx += size0;"),
        (lambda n: stored(GX % -n), "x[gx % size0] = v;"),
        (lambda n: stored(Choice(GX < 1, GX, Number(n))), "x[select(size0, gx, gx < 1)] = v;"),
        (lambda n: stored(GX << n), "x[gx << u32(size0)] = v;"),
    ],
)
def test_where_sizes_stand(statement: Callable[[int], Statement], size: str) -> None:
    one, other = together(*(kernel(statement(n)) for n in (2, 3)))
    assert one.source == other.source and one.source.printed.body.endswith(f"  {size}")


def test_arrays_of_other_sizes_have_as_many_elements_as_are_bound() -> None:
    one, other = together(*(kernel(stored(GX), count=count) for count in (8, 12)))
    assert one == other
    assert [each.count for each in one.source.parameters] == [0] and not one.sizes


@pytest.mark.parametrize(
    "statement",
    [
        lambda n: stored(n),
        lambda n: Declare(FLOATS, "sum", n),
        lambda n: Declare(INTS, "at", value=Call("ivec4", 0, n, 16, 24, type=INTS)),
        lambda n: stored(GX, V * Real(n + 0.5)),
        lambda n: Assign(Name("word"), "=", Numeral(f"{n}u", "uint")),
        lambda n: Assign(Name("word"), "&=", Number(n)),
        lambda n: stored(GX, Call(f"vec{n}", 0.0)),
    ],
)
def test_what_is_no_size_keeps_kernels_apart(statement: Callable[[int], Statement]) -> None:
    kernels = [kernel(statement(number)) for number in (2, 3)]
    assert together(*kernels) == [Shared(each) for each in kernels]


def test_other_groups_keep_kernels_apart() -> None:
    kernels = [kernel(stored(GX * group), group=group) for group in (32, 64)]
    assert together(*kernels) == [Shared(each) for each in kernels]


def test_kernels_without_a_buffer_to_spare_stay_as_they_are() -> None:
    kernels = [kernel(stored(GX * n), arrays=MOST) for n in (2, 3)]
    assert together(*kernels) == [Shared(each) for each in kernels]


def test_kernels_that_do_much_of_the_work_stay_as_they_are() -> None:
    one, much, other = (kernel(stored(GX + n)) for n in (1, 2, 3))
    found = shared({one: LITTLE, much: round(3 * LITTLE / SHARED), other: LITTLE}, MOST)
    assert found[much] == Shared(much)
    assert found[one].source == found[other].source
    assert (found[one].sizes, found[other].sizes) == ((1,), (3,))
