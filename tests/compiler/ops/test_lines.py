"""Sizes of groups and parts: powers of two, and divisors."""

import pytest

from tflgpu.compiler.ops.base.parts import largest_divisor, power_of_two, power_of_two_from


@pytest.mark.parametrize(
    ("number", "within", "beyond"),
    [(1, 1, 1), (2, 2, 2), (3, 2, 4), (4, 4, 4), (5, 4, 8), (1023, 512, 1024), (1024, 1024, 1024)],
)
def test_powers_of_two_around_a_number(number: int, within: int, beyond: int) -> None:
    assert power_of_two(number) == within
    assert power_of_two_from(number) == beyond


def test_a_group_has_a_work_item_at_least() -> None:
    assert power_of_two(0) == power_of_two(-3) == 1


@pytest.mark.parametrize(
    ("number", "most", "found"), [(12, 1, 1), (12, 4, 4), (12, 5, 4), (12, 100, 12), (13, 12, 1)]
)
def test_divisors(number: int, most: int, found: int) -> None:
    assert largest_divisor(number, most) == found
