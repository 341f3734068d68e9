"""Loading and running a model under observation."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import cast

from ....runtime.api import Loading
from ....runtime.launch.device import Device
from ....runtime.session import Session
from ...ir import Array
from .events import Event, Trace
from .traced_device import TracedDevice


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
