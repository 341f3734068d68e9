"""Batches: tasks that travel to a worker together.

Sending a task of its own and getting its result takes Dask as long as compiling a small model.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from math import ceil

from .tasks import Task

MOST = 16
"""Tasks of a batch."""
MOST_BYTES = 1 << 18
"""Bytes of the models of a batch of several tasks."""
ROUNDS = 4
"""Batches for each worker that what is left would make, at least; so that all end together."""


def batches(tasks: Iterable[Task], workers: int) -> Iterator[list[Task]]:
    """Tasks in batches for so many workers, those of large models first and alone.

    Compiling a large model takes longest, and the last batches are the smallest: at the end, no
    worker waits long for another one.
    """
    left = deque(sorted(((_size(task), task) for task in tasks), key=lambda each: -each[0]))
    while left:
        most = min(MOST, ceil(len(left) / (ROUNDS * workers)))
        size, task = left.popleft()
        batch = [task]
        while left and len(batch) < most and size + left[0][0] <= MOST_BYTES:
            more, task = left.popleft()
            size += more
            batch.append(task)
        yield batch


def _size(task: Task) -> int:
    try:
        return task.model.stat().st_size
    except OSError:
        return 0  # whoever compiles it says why
