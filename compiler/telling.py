"""How compiling warns: to whoever called tflgpu, or into a list that travels to another process.

What `warnings` itself offers to record them with holds for all threads of a process.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ..runtime.errors import TflgpuWarning, warn_caller

_told: ContextVar[list[TflgpuWarning] | None] = ContextVar("told", default=None)


def tell(warning: TflgpuWarning) -> None:
    """Give a warning to the nearest caller outside of tflgpu, or to the `told` around it."""
    found = _told.get()
    if found is None:
        warn_caller(warning)
    elif str(warning) not in map(str, found):
        found.append(warning)


@contextmanager
def told() -> Iterator[list[TflgpuWarning]]:
    """The warnings that this thread is given in the block, each once, in place of the caller."""
    found: list[TflgpuWarning] = []
    token = _told.set(found)
    try:
        yield found
    finally:
        _told.reset(token)
