"""TOPK_V2 of long rows, in steps: the graph before and after, and what is left alone."""

from __future__ import annotations

import pytest
from graphs import largest, x
from rewrites import compiled, operators, reasons, text

RULE = "expand_operators"


def test_steps() -> None:
    assert text(largest(x(2, 1000), 126), RULE).splitlines() == [
        "t1, t2 = tflgpu.top_of_blocks(x0) length=256 count=126",
        "t3, t4 = tflgpu.merge_tops(t1, t2) length=126 lists=4 count=126",
    ]
    assert operators(largest(x(2, 1024), 1024), RULE).split() == [
        "tflgpu.top_of_blocks",
        "tflgpu.merge_tops",
    ]


def test_one_work_item_of_a_processor_finds_few() -> None:
    assert operators(largest(x(2, 4000), 10), RULE) == "TOPK_V2"
    assert reasons(largest(x(2, 4000), 10), RULE) == ["one work-item finds 10 of 4000 values"]


@pytest.mark.parametrize(("size", "count"), [(700, 10), (767, 767), (4000, 0)])
def test_it_declines(size: int, count: int) -> None:
    assert operators(largest(x(2, size), count), RULE) == "TOPK_V2"
    assert reasons(largest(x(2, size), count), RULE) == [f"{count} of {size} values take no time"]


def test_only_what_is_needed_is_kept_between_steps() -> None:
    plan = compiled(largest(x(2, 4000), 10), "gpu").plan
    # 63 blocks of 64 and less, of each ten values; then a quarter as many, and so on.
    sizes = sorted({tensor.shape[-1] for tensor in plan.tensors})
    assert sizes == [10, 40, 160, 630, 4000]
