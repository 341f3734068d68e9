"""How compiling tells how far it is, and warns: its caller, or into a list for another process.

What `warnings` itself offers to record them with holds for all threads of a process.
"""

from collections.abc import Callable, Iterator
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


# Called with the stage, the work done in it so far, and its total work.
Progress = Callable[[str, int, int], None]


def silent(stage: str, done: int, total: int) -> None:
    """A `Progress` that does nothing."""
