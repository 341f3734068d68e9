"""Kernels of a folder for browsers: which of them become one, and what stays a constant."""

from __future__ import annotations

import pytest

from tflgpu.compiler.export.web_kernels import SHARED, Kernel, Placed, bare, shared

LITTLE = Kernel("little", SHARED / 4)
MUCH = Kernel("much", SHARED)


def kernel(body: str, count: int = 8, group: int = 32) -> str:
    return (
        f"@group(0) @binding(0) var<storage, read_write> x: array<vec4f, {count}>;\n"
        "var<workgroup> totals: array<vec4f, 16>;\n\n"
        f"@compute @workgroup_size({group}, 1, 1)\n"
        "fn main(@builtin(global_invocation_id) work_item: vec3u) {\n"
        f"  {body}\n"
        "}"
    )


def together(*texts: str) -> tuple[list[str], list[Placed]]:
    """The kernels that compute the given ones, none of which does much work."""
    kernels, placed = shared(dict.fromkeys(texts, LITTLE))
    return list(kernels), [placed[text] for text in texts]


def test_sizes_are_read_once_and_what_is_the_same_stays() -> None:
    one, other = (kernel(f"x[gx * {n} + {n} + 4] = x[{m}u];") for n, m in ((7, 3), (9, 3)))
    (text,), placed = together(one, other)
    assert placed == [Placed(0, (7,)), Placed(0, (9,))]
    assert "  let size0 = sizes.size0;\n  x[gx * size0 + size0 + 4] = x[3u];\n" in text
    assert "x: array<vec4f, 8>;\n@group(0) @binding(1) var<uniform> sizes: Sizes;\n" in text


def test_arrays_of_other_sizes_have_as_many_elements_as_are_bound() -> None:
    (text,), placed = together(kernel("x[0] = x[1];", 8), kernel("x[0] = x[1];", 12))
    assert placed == [Placed(0, ()), Placed(0, ())]
    assert "x: array<vec4f>;" in text and "totals: array<vec4f, 16>;" in text
    assert "sizes" not in text


@pytest.mark.parametrize(
    "body",
    [
        "sum[{}] += v;",
        "var sum: array<vec4f, {}>;",
        "v = vec4u(0, {}, 16, 24);",
        "v = 1.5e+{};",
        "v = {}.5;",
        "v = w{};",
        "v = u >> {}u;",
        "v = w;  // number {}",
    ],
)
def test_what_is_no_size_keeps_kernels_apart(body: str) -> None:
    texts = [kernel(body.format(number)) for number in (2, 3)]
    assert together(*texts) == (texts, [Placed(0, ()), Placed(1, ())])


def test_kernels_of_another_shape_stay_as_they_are() -> None:
    texts = [f"@compute @workgroup_size({number}) fn\nmain() {{}}" for number in (1, 2)]
    assert together(*texts) == (texts, [Placed(0, ()), Placed(1, ())])


def test_other_groups_keep_kernels_apart() -> None:
    texts = [kernel("x[0] = x[1];", group=group) for group in (32, 64)]
    assert together(*texts)[0] == texts


def test_kernels_that_do_much_of_the_work_stay_as_they_are() -> None:
    texts = [kernel(f"x[gx + {number}] = x[0];") for number in range(3)]
    known = dict(zip(texts, (LITTLE, MUCH, LITTLE), strict=True))
    kernels, placed = shared(known)
    assert list(kernels.values()) == ["little", "much"]
    assert [placed[text] for text in texts] == [Placed(0, (0,)), Placed(1, ()), Placed(0, (2,))]
    assert list(kernels)[1] == texts[1]


def test_a_kernel_without_its_comment_and_name() -> None:
    assert bare("// one_003\n// grid 1\nenable f16;\nfn one_003() {\n}\n", "one_003") == (
        "enable f16;\nfn main() {\n}"
    )
