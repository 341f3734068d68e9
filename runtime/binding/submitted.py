"""A run that was started and may not be done yet."""

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from ..errors import DeviceError
from ..execution.execution import Execution
from ..shown import one_line
from .slot import Run, Slot

Bound = TypeVar("Bound")  # The type of what is bound to outputs.

# Seconds between two looks at a run that is waited for with a timeout, at first and in the end.
_SHORTEST, _LONGEST = 2e-5, 1e-3


class SubmittedRun(Generic[Bound]):
    """A run in flight, as `BoundRun.submit` returns it. Any thread may wait for it.

    In a coroutine, `await run` waits without blocking the event loop.
    """

    def __init__(
        self, execution: Execution, slot: Slot, run: Run, outputs: dict[str, Bound]
    ) -> None:
        self._execution, self._slot, self._run = execution, slot, run
        self._outputs = outputs

    @property
    def done(self) -> bool:
        """Whether the device is done with the run. DeviceError if it has failed."""
        self._execution.owner.check_process()
        if not self._run.settled:
            with self._racing_with_close():
                return self._run.marker.done
        if self._run.error is not None:
            raise self._run.error
        return True

    @property
    def event(self) -> Any:
        """A pyopencl.Event, or the GLsync as a number, which lives as long as this object.

        Work on the device that waits for it may use device memory that is bound. To arrays of the
        host, results are copied by `wait`.
        """
        return self._run.marker.event

    def wait(self, timeout: float | None = None) -> dict[str, Bound]:
        """Wait until the run is done; returns what is bound to the outputs, by name.

        With a timeout in seconds, TimeoutError if the run is not done by then. DeviceError if the
        run has failed.
        """
        self._execution.owner.check_process()
        if not self._run.settled:
            with self._racing_with_close():
                if timeout is None:
                    self._run.marker.wait()
                else:
                    self._look(time.monotonic() + timeout)
                with self._execution:
                    if not self._run.settled:
                        self._slot.settle()
        if self._run.error is not None:
            raise self._run.error
        return self._outputs

    def __repr__(self) -> str:
        failed = "failed" if self._run.error else "done"
        state = failed if self._run.settled else "in flight"
        return one_line("SubmittedRun", self._execution, state)

    @contextmanager
    def _racing_with_close(self) -> Iterator[None]:
        """Ignore errors if another thread closes the session meanwhile, which settles the run."""
        try:
            yield
        except DeviceError:
            if not self._run.settled:
                raise

    def _look(self, end: float) -> None:
        pause = _SHORTEST
        while not self.done:
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError("the run is not done yet; wait for it again")
            time.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST)

    def __await__(self) -> Generator[Any, None, dict[str, Bound]]:
        return self._awaited().__await__()

    async def _awaited(self) -> dict[str, Bound]:
        import asyncio

        if self._run.marker.any_thread:
            return await asyncio.get_running_loop().run_in_executor(None, self.wait)
        while not self.done:
            await asyncio.sleep(_LONGEST)
        return self.wait()
