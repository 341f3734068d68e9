"""Loading and running a model under observation."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, cast

from ....runtime.api import Loading
from ....runtime.launch.device import Device
from ....runtime.plan.records import Plan
from ....runtime.session import Session
from ...ir import Array
from .events import Event, Trace


class TracedDevice:
    """Hands every call of a `Device` on to another one, and records the calls that take time.

    Calls that only start work, such as copies, are as long as the driver takes to start it; the
    work ends in the `wait` that follows.
    """

    def __init__(self, device: Device, trace: Trace) -> None:
        self._device, self._trace = device, trace
        self._plan: Plan | None = None  # That of the run whose dispatches become events.
        self._profiled = 0  # Dispatches profiled so far in this run.
        self._enqueued = False
        # When the device had finished what was enqueued, in the trace's seconds.
        self.settled: list[float] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def begin(self, plan: Plan | None = None) -> None:
        """Note that a run begins, whose dispatches `profile` records if their plan is given."""
        self._profiled, self._plan, self.settled = 0, plan, []

    def build(self, kernels: Sequence[Any], *arguments: Any) -> Any:
        with self._trace.span(f"compile {_counted(kernels)}"):
            return self._device.build(kernels, *arguments)

    def restore(self, kernels: Sequence[Any], *arguments: Any) -> Any:
        with self._trace.span(f"restore {_counted(kernels)}"):
            return self._device.restore(kernels, *arguments)

    def constant(self, data: memoryview) -> Any:
        with self._trace.span("copy the weights in", bytes=len(data)):
            return self._device.constant(data)

    def mapped(self, buffer: Any, size: int) -> None:
        """None: the host would copy by itself, and there would be no call to record."""

    def upload(self, buffer: Any, array: Any, *offset: int) -> None:
        with self._trace.span("copy in", bytes=array.nbytes):
            self._device.upload(buffer, array, *offset)

    def download(self, buffer: Any, array: Any, *offset: int) -> None:
        with self._trace.span("copy out", bytes=array.nbytes):
            self._device.download(buffer, array, *offset)

    def enqueue(self, commands: Sequence[Any]) -> None:
        with self._trace.span("enqueue", commands=len(commands)):
            self._device.enqueue(commands)
        self._enqueued = True

    def finish(self) -> None:
        with self._trace.span("wait"):
            self._device.finish()
        if self._enqueued:
            self.settled.append(self._trace.now())
        self._enqueued = False

    def profile(self, commands: Sequence[Any]) -> list[float]:
        """Each dispatch becomes an event of the device; the gaps between them are left out."""
        with self._trace.span("run kernel by kernel", commands=len(commands)):
            at = self._trace.now()
            times = self._device.profile(commands)
        if self._plan is None:
            return times
        for seconds in times:
            dispatch = self._plan.dispatches[self._profiled]
            kernel = self._plan.kernels[dispatch.kernel]
            details = {
                "kernel": kernel.file,
                "grid": list(dispatch.grid),
                "group": list(kernel.group),
                "operations": dispatch.flops,
                "operators in the model": list(dispatch.operators),
            }
            self._trace.events.append(Event("device", dispatch.label, at, seconds, details))
            at += seconds
            self._profiled += 1
        return times


def _counted(kernels: Sequence[Any]) -> str:
    return f"{len(kernels)} kernel{'s' * (len(kernels) != 1)}"


class Observer(Loading):
    """Records the loading of a session, and runs of it."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._device: TracedDevice

    def step(self, name: str) -> AbstractContextManager[None]:
        """A block that becomes an event."""
        return self._trace.span(name)

    def opened(self, device: Device) -> Device:
        """The device, whose calls are recorded from now on."""
        self._device = TracedDevice(device, self._trace)
        return cast(Device, self._device)

    def run(
        self, session: Session, inputs: Mapping[str, Array], check: bool = False
    ) -> dict[str, Array]:
        """Run once as an application does; then part by part and kernel by kernel, for the times.

        The outputs are those of the first run. The session is the one that was loaded.
        """
        plan = session.plan
        self._device.begin()
        with self._trace.span("run"):
            outputs = session.run(inputs, check=check)
        if plan.parts:
            self._run_parts(session, inputs)
        if plan.dispatches:
            self._device.begin()
            # The driver may compile a kernel when it is launched first.
            with self._trace.span("warm up each kernel"):
                session.profile(inputs)
            self._device.begin(plan)
            with self._trace.span("run again, one kernel at a time"):
                session.profile(inputs)
        return outputs

    def _run_parts(self, session: Session, inputs: Mapping[str, Array]) -> None:
        self._device.begin()
        with self._trace.span("run again, one part at a time"):
            times = session.profile_parts(inputs)
        # Each part starts as soon as the device has finished what comes before it.
        for part, time, at in zip(session.plan.parts, times, self._device.settled, strict=False):
            details = {"file": part.file, "operators in the model": list(part.operators)}
            start = at + time.copy_in
            self._trace.events.append(Event("LiteRT", part.label, start, time.run, details))
