"""How stages tell how far they have come."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with the stage, the work done in it so far, and its total work."""


def silent(stage: str, done: int, total: int) -> None:
    """A `Progress` that does nothing."""
