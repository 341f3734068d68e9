"""How many processors this process may use, which can be fewer than a driver counts."""

from __future__ import annotations

import os
from contextlib import suppress
from math import ceil

_QUOTA = "/sys/fs/cgroup/cpu.max"
"""Microseconds of processor time in a period, and the period: Linux's control groups, version 2."""


def usable_processors() -> int:
    """Those the process is not kept from by its affinity, or a container's quota.

    Threads that wait for each other without sleeping must not be more than these.
    """
    try:
        count = len(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # macOS and Windows have none
        count = os.cpu_count() or 1
    with suppress(OSError, ValueError), open(_QUOTA, encoding="ascii") as file:
        quota, period = file.read().split()
        if quota != "max":
            count = min(count, ceil(int(quota) / int(period)))
    return max(count, 1)
