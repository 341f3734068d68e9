"""What the processes do that the tests of stores start and kill."""

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from tflgpu.runtime.remote.publish import publish
from tflgpu.runtime.remote.store import Store


def publish_for_ever(folders: Sequence[Path], url: str, started: Any) -> None:
    """Publish one variant after the other, again and again."""
    store = Store(url)
    for folder in cycle(folders):
        publish(folder, store)
        started.set()


def publish_alternately(folders: Sequence[Path], url: str, started: Any, stop: Any) -> None:
    """Publish each variant in turn, all of them at least once, until it is told to stop."""
    store = Store(url)
    while True:
        for folder in folders:
            publish(folder, store)
            started.set()
        if stop.is_set():
            return
