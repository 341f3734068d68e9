"""Other programs that compute, for measuring on a busy machine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

COMPUTE = """
from os import getppid
parent = getppid()
while getppid() == parent:
    sum(range(100_000))
"""
"""The program: it ends when its parent has."""


@contextmanager
def busy(programs: int) -> Iterator[None]:
    """A block in which this many other processes compute without a pause (OSError)."""
    with ExitStack() as running:
        for _ in range(programs):
            child = running.enter_context(subprocess.Popen([sys.executable, "-c", COMPUTE]))
            running.callback(child.kill)
        yield
