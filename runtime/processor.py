"""The host's processor, on which CPU drivers run kernels: its instructions and usable cores."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

_CONTROL_GROUPS = "/sys/fs/cgroup"  # Where Linux states the limits of a container.


def instructions() -> frozenset[str]:
    """The processor's extensions as Linux calls them, such as avx512_vnni; empty elsewhere."""
    return frozenset(_features().partition(":")[2].split())


def processor_name() -> str:
    """The processor's name as the system gives it; empty if it gives none."""
    return _line("model name").partition(":")[2].strip() or _fallback_name()


@cache
def _features() -> str:
    """The line of /proc/cpuinfo that lists them; empty if there is none."""
    return _line("flags", "Features")


def _line(*beginnings: str) -> str:
    """The line of /proc/cpuinfo about the first core that begins so; empty if there is none."""
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith(beginnings):
                return line
            if line == "\n":
                break
    return ""


def _fallback_name() -> str:
    # Imported only where there is no such file, because it is slow.
    import platform

    return f"{platform.machine()} {platform.processor()}".strip()


def instruction_set() -> str:
    """A digest of the instructions the processor has, or the system's name for it.

    CPU drivers compile for the processor they run on, and a cache may be copied to another machine.
    Processor names will not do: a whole family often shares one.
    """
    if line := _features():
        return hashlib.sha256(line.encode()).hexdigest()
    return _fallback_name()


def usable_cores() -> int:
    """Cores that this process may use, given its affinity and its container's quota.

    A driver may report more. Threads that spin while they wait for each other should not outnumber
    these.
    """
    try:
        count = len(os.sched_getaffinity(os.getpid()))
    except (AttributeError, OSError):  # macOS and Windows
        count = os.cpu_count() or 1
    for quota in _quotas():
        count = min(count, int(quota))
    return max(count, 1)


def _quotas() -> Iterator[float]:
    """CPU time per wall-clock time, according to control groups version 2 and version 1."""
    with suppress(OSError, ValueError, ZeroDivisionError):
        quota, period = _limit("cpu.max").split()
        if quota != "max":
            yield int(quota) / int(period)
    with suppress(OSError, ValueError, ZeroDivisionError):
        quota, period = (_limit("cpu", f"cpu.cfs_{name}_us") for name in ("quota", "period"))
        if int(quota) > 0:
            yield int(quota) / int(period)


def _limit(*names: str) -> str:
    with open(os.path.join(_CONTROL_GROUPS, *names), encoding="utf-8") as file:
        return file.read()
