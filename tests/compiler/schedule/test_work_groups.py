"""Work-groups: legal on every device, and worth trying."""

from __future__ import annotations

import numpy as np
import pytest

from tflgpu.compiler.devices import profile
from tflgpu.compiler.ops.base import Launch
from tflgpu.compiler.schedule.work_groups import WASTE, choose_group, groups_worth_trying
from tflgpu.compiler.target import Target


@pytest.mark.parametrize("name", ["cpu", "gpu", "adreno", "mali", "nvidia"])
@pytest.mark.parametrize("grid", [(112, 112, 4), (1, 1, 320), (7, 5, 1), (1000, 1, 1)])
@pytest.mark.parametrize("heavy", [False, True])
def test_groups_are_legal(name: str, grid: tuple[int, int, int], heavy: bool) -> None:
    target = Target(profile(name))
    launch = Launch("x.jinja", grid, {}, {}, heavy=heavy)
    group = choose_group(launch, target)
    candidates = groups_worth_trying(launch, target)
    assert candidates[0] == group and len(set(candidates)) == len(candidates)
    for candidate in candidates:
        assert np.prod(candidate) <= target.device.max_group and candidate[2] <= 64
        started = np.prod(
            [-(-size // part) * part for size, part in zip(grid, candidate, strict=True)]
        )
        assert candidate == group or started <= WASTE * np.prod(grid)
    if heavy:
        assert group[0] <= target.device.group_columns
