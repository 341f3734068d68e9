"""Sorts of values that LiteRT's TOPK_V2 has no order for, and comparators that say none."""

from pathlib import Path

import numpy as np
import pytest
from agreement import run
from cases.sorts import DIRECTION, KINDS, ordered
from devices import Way
from graphs import Body, Value, call, model, typed, x, xi

from tflgpu.compiler import Options, UnsupportedError, pipeline
from tflgpu.compiler.ir import Op, Tensor, constant
from tflgpu.compiler.ops import OPS
from tflgpu.compiler.ops.sort.sort import SORT

SIZES = (19, 1511)


@pytest.mark.shared
def test_nan_counts_as_the_largest(way: Way, tmp_path: Path) -> None:
    """In total order, as PyTorch has it, along rows that are sorted at once and in steps."""
    sorts = {
        f"{direction} {size}": ordered(direction, x(2, size, draw="special"), axis=1)
        for size in SIZES
        for direction in ("LT", "GT")
    }
    made = model(sorts)
    compiled = pipeline.build(
        made.content, Options(target=way.target, device=way.profile, fallback="none")
    )
    found = run(compiled, way.device, tmp_path, made.inputs)
    for name, result in found.items():
        rising = np.sort(made.inputs[f"{name}/in0"])
        wanted = rising if name.startswith("LT") else rising[:, ::-1]
        np.testing.assert_array_equal(result, wanted, name)


@pytest.mark.parametrize("falling", [False, True])
def test_constants_are_sorted_as_tensors_are(falling: bool) -> None:
    """Equal values keep their places, and NaN is the largest."""
    row = np.array([2, np.nan, -np.inf, 2, np.inf, -1, np.nan], np.float32)
    outputs = Tensor("values", (7,)), Tensor("places", (7,), "int32")
    attrs = {"falling": falling, "nan_first": falling}
    values, places = OPS[SORT].compute(Op(SORT, (constant("row", row),), outputs, attrs), [row])
    rising = [2, 5, 0, 3, 4, 1, 6]
    np.testing.assert_array_equal(places, [1, 6, 4, 0, 3, 5, 2] if falling else rising)
    np.testing.assert_array_equal(values, row[places])


def test_comparators_are_known_however_they_are_spelled() -> None:
    """With NaN and zeros replaced by one of each first, as jax.lax.sort writes it."""
    body = comparing(call("SELECT", is_nan(FIRST), FIRST, FIRST), SECOND, "LT")
    compiled = pipeline.build(sorting(body), Options(device="gpu", fallback="none"))
    assert [dispatch.kernel for dispatch in compiled.plan.dispatches]


FIRST, SECOND = xi(dtype="float32"), xi(dtype="float32")


def is_nan(value: Value) -> Value:
    return typed("bool", "NOT_EQUAL", value, value)


def comparing(first: Value, second: Value, direction: str) -> Body:
    options = {"comparison_direction": DIRECTION + direction, "compare_type": KINDS["float32"]}
    return Body((FIRST, SECOND), typed("bool", "STABLEHLO_COMPARE", first, second, **options))


def sorting(body: Body) -> bytes:
    attrs = {"dimension": 0, "is_stable": True, "comparator_subgraph_index": body}
    return model({"y": call("STABLEHLO_SORT", x(7), **attrs)}).content


@pytest.mark.parametrize(
    "body",
    [
        comparing(FIRST, SECOND, "EQ"),
        comparing(call("ABS", FIRST), call("ABS", SECOND), "LT"),
        comparing(call("SIN", FIRST), SECOND, "LT"),
    ],
)
def test_other_comparators_are_refused(body: Body) -> None:
    with pytest.raises(UnsupportedError, match="its comparator does not say which value"):
        pipeline.build(sorting(body), Options(device="gpu", fallback="none"))
