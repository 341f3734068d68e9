"""Processes forked from one that had started the drivers, which do not survive that.

A fork copies only the thread that calls it. The driver's threads, for which calls wait, do not
exist in the new process, and locks that they held stay locked.
"""

from __future__ import annotations

import os

from .errors import DeviceError

_ADVICE = (
    'start processes that run models with multiprocessing.get_context("spawn"), and load the '
    "model there"
)


class Drivers:
    """The process that has started the drivers."""

    def __init__(self) -> None:
        self.process: int | None = None
        """The process that they were started in; None if they have not been started."""
        self.lost = False
        """Whether that is not this process, but one that it was forked from."""
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        self.lost = self.process is not None

    def start(self) -> None:
        """Note that this process starts drivers (DeviceError if it cannot)."""
        self.check("tflgpu")
        self.process = os.getpid()

    def check(self, what: str) -> None:
        """DeviceError if the drivers that `what` uses were started before a fork."""
        if self.lost:
            raise DeviceError(
                f"{what} belongs to process {self.process}, from which this process "
                f"({os.getpid()}) was forked; drivers do not survive a fork: {_ADVICE}"
            )


DRIVERS = Drivers()
