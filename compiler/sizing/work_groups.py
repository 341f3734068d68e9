"""Work-group sizes: the profile's choice for a launch, and candidates for tuning."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from math import log2, prod

from ..ops.base.launch import Grid, Launch, WorkGroup
from ..target import Target

WASTE = 1.25  # Most work-items that a tuned group may start per work-item of the grid.

# Share of lanes that is worth as much as loading weights once for all work-items of a warp.
SPLIT_WARP = 0.25

# Floating-point operations that are enough for a group, of which threads of a processor take some.
GROUP_WORK = 1 << 11


def budget(launch: Launch, target: Target) -> int:
    """Work-items of a group by the device profile, and on processors by what each has to do."""
    device = target.device
    if launch.heavy:
        return device.heavy_group
    if not target.on_processor:
        return device.light_group
    each = launch.flops // max(prod(launch.grid), 1)
    return min(device.light_group, max(GROUP_WORK // max(each, 1), device.heavy_group))


def choose_group(launch: Launch, target: Target) -> WorkGroup:
    """A group of at most the profile's size that wastes little."""
    if target.on_processor:
        return _filled(launch, target)
    device = target.device
    most = budget(launch, target)
    return _best(launch.grid, launch.heavy, most, device.max_group_depth, device.warp)


@lru_cache(maxsize=1024)
def _best(grid: Grid, heavy: bool, most: int, depth: int, warp: int) -> WorkGroup:
    """The best of hundreds of groups; layers of one size are many in a network."""
    candidates = _candidates(grid, most, depth)
    return max(candidates, key=lambda group: _merit(group, grid, heavy, warp))


def _filled(launch: Launch, target: Target) -> WorkGroup:
    """A group filled from the first axis on."""
    left = budget(launch, target)
    group = []
    for axis, size in enumerate(launch.grid):
        part = min(size, left, target.device.max_group_depth if axis == 2 else left)
        if size % part:
            divisors = [d for d in range(part, part // 2, -1) if size % d == 0]
            part = divisors[0] if divisors else part
        group.append(part)
        left = max(left // part, 1)
    return (group[0], group[1], group[2])


def _candidates(grid: Grid, most: int, depth: int) -> Iterator[WorkGroup]:
    """Groups of at most `most`, of powers of two and of parts that leave no rest along an axis."""
    parts = [
        [
            part
            for part in range(1, min(most, limit) + 1)
            if part & (part - 1) == 0 or size % part == 0 or part == size
        ]
        for size, limit in zip(grid, (most, most, depth), strict=True)
    ]
    columns, rows, outer = parts
    for x in columns:
        for y in rows:
            if x * y <= most:
                for z in outer:
                    if x * y * z <= most:
                        yield x, y, z


def _merit(group: WorkGroup, grid: Grid, heavy: bool, warp: int) -> tuple[float, int, int, int]:
    """How well a group suits a GPU; of equals the first differing entry decides.

    Lanes in use count most, but a warp within one slice of the output loads its weights only once.
    Then come large groups, which hide more latency, in squares of pixels that share what they see.
    """
    lanes = lanes_in_use(group, grid, warp)
    split = heavy and group[2] > 1 and group[0] * group[1] % warp
    score = lanes - SPLIT_WARP if split else lanes
    return (round(score, 2), prod(group), -group[2], group[0])


def lanes_in_use(group: WorkGroup, grid: Grid, warp: int) -> float:
    """The share of a GPU's lanes that compute something while a grid runs in such groups."""
    groups = prod(-(-size // part) for size, part in zip(grid, group, strict=True))
    return prod(grid) / (groups * -(-prod(group) // warp) * warp)


def explain_group(launch: Launch, target: Target) -> str:
    """Why a launch has the group that its kernel requires or `choose_group` returns."""
    if launch.group is not None:
        return "required by the kernel"
    work = "heavy" if launch.heavy else "light"
    return f"up to {budget(launch, target)} for {work} work"


def groups_worth_trying(launch: Launch, target: Target) -> list[WorkGroup]:
    """The group of `choose_group`, then powers of two, the closest in size first."""
    chosen = choose_group(launch, target)
    limit, depth = min(target.device.max_group, 256), target.device.max_group_depth
    columns, rows, outer = ([1 << k for k in range(9) if 1 << k < 2 * size] for size in launch.grid)
    fitting = [
        group
        for group in product(columns, rows, outer)
        if prod(group) <= limit and group[2] <= depth and _waste(group, launch.grid) <= WASTE
    ]

    def distance(group: WorkGroup) -> tuple[float, float, int]:
        return (abs(log2(prod(group) / prod(chosen))), _waste(group, launch.grid), -group[0])

    return list(dict.fromkeys([chosen, *sorted(fitting, key=distance)]))


def _waste(group: WorkGroup, grid: tuple[int, int, int]) -> float:
    started = prod(-(-size // part) * part for size, part in zip(grid, group, strict=True))
    return started / prod(grid)
