"""Work-groups: legal on every device, and worth trying."""

from pathlib import Path

import numpy as np
import pytest
from devices import own_profile

from tflgpu.compiler.devices import profile
from tflgpu.compiler.ops.base.launch import Launch
from tflgpu.compiler.sizing.work_groups import (
    WASTE,
    choose_group,
    groups_worth_trying,
    lanes_in_use,
)
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


@pytest.mark.parametrize("name", ["adreno", "amd", "intel_gpu", "mali", "nvidia"])
@pytest.mark.parametrize(
    "grid, least",
    [
        ((112, 28, 8), 1.0),
        ((3136, 1, 16), 1.0),
        ((196, 1, 128), 0.76),
        ((49, 1, 256), 0.76),
        ((7, 7, 256), 0.76),
        ((1, 1, 320), 1.0),
    ],
)
def test_groups_of_gpus_use_their_lanes(
    name: str, grid: tuple[int, int, int], least: float
) -> None:
    target = Target(profile(name))
    launch = Launch("x.jinja", grid, {}, {}, heavy=True)
    group = choose_group(launch, target)
    assert np.prod(group) % target.device.warp == 0 or least < 1
    assert lanes_in_use(group, grid, target.device.warp) >= least


def test_a_warp_stays_within_one_slice_where_that_wastes_little() -> None:
    target = Target(profile("amd"))
    group = choose_group(Launch("x.jinja", (56, 14, 16), {}, {}, heavy=True), target)
    assert group[0] * group[1] % target.device.warp == 0


def test_the_depth_of_groups_is_the_device_s(tmp_path: Path) -> None:
    launch = Launch("x.jinja", (1, 1, 320), {}, {})
    assert choose_group(launch, Target(profile("nvidia")))[2] == 64
    shallow = Target(profile(own_profile(tmp_path, "nvidia", max_group_depth=8)))
    assert all(group[2] <= 8 for group in groups_worth_trying(launch, shallow))


@pytest.mark.parametrize("flops, items", [(1, 64), (32, 64), (64, 32), (700, 2), (4096, 1)])
def test_threads_of_a_processor_share_work_items_that_do_much(flops: int, items: int) -> None:
    launch = Launch("x.jinja", (256, 1, 1), {}, {}, flops=256 * flops)
    assert choose_group(launch, Target(profile("cpu"))) == (items, 1, 1)
