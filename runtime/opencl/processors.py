"""How many processors this process may use, which can be fewer than a driver counts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
"""Where Linux tells what a container may use."""


def usable_processors() -> int:
    """Those the process is not kept from by its affinity, or by a container's quota.

    Threads that wait for each other without sleeping should not be more than these.
    """
    try:
        count = len(os.sched_getaffinity(os.getpid()))
    except (AttributeError, OSError):  # macOS and Windows have none
        count = os.cpu_count() or 1
    for quota in _quotas():
        count = min(count, int(quota))
    return max(count, 1)


def _quotas() -> Iterator[float]:
    """Processors' worth of time, of control groups of either version; a negative one is none."""
    with suppress(OSError, ValueError, ZeroDivisionError):
        quota, period = (_GROUPS / "cpu.max").read_text().split()
        if quota != "max":
            yield int(quota) / int(period)
    with suppress(OSError, ValueError, ZeroDivisionError):
        quota, period = (
            (_GROUPS / "cpu" / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period")
        )
        if int(quota) > 0:
            yield int(quota) / int(period)
