"""Loading and running a model under observation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from ....runtime.api import open_device
from ....runtime.input_shapes import specialized
from ....runtime.launch.device import Device
from ....runtime.session import Session
from ....runtime.store.cache import find_variants, first_runnable, newest_first
from ....runtime.store.variant import read_plan, read_variant
from ...ir import Array
from .events import Event, Trace
from .traced_device import TracedDevice


class TracedSession:
    """A session that records loading and runs. It is closed as a session is."""

    def __init__(
        self,
        cache: Path,
        model: str | None,
        device: str,
        trace: Trace,
        shapes: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        """Load as `runtime.load` does, for a cache that no other process changes meanwhile.

        `shapes` are the input shapes to take of a model that was compiled for several, by name.
        """
        self._trace = trace
        with trace.span("load"):
            with trace.span("read the plan"):
                folders = newest_first(find_variants(cache, model))
                found = [(folder, read_plan(folder)) for folder in folders]
            with trace.span("open the device"):
                targets = list(dict.fromkeys(plan.target for _, plan in found))
                opened = open_device(device, targets)
            try:
                folder, _ = first_runnable(found, opened)
                with trace.span("read the kernels and weights"):
                    variant = specialized(read_variant(folder), shapes)
                self._device = TracedDevice(opened, variant.plan, trace)
            except BaseException:
                opened.release()
                raise
            self.session = Session(variant, cast(Device, self._device), store_binaries=True)

    def run(self, inputs: Mapping[str, Array], check: bool = False) -> dict[str, Array]:
        """Run once as an application does; then part by part and kernel by kernel, for the times.

        The outputs are those of the first run.
        """
        self._device.begin()
        with self._trace.span("run"):
            outputs = self.session.run(inputs, check=check)
        if self.session.plan.parts:
            self._run_parts(inputs)
        if self.session.plan.dispatches:
            self._device.begin()
            # The driver may compile a kernel when it is launched first.
            with self._trace.span("warm up each kernel"):
                self.session.profile(inputs)
            self._device.begin(kernels=True)
            with self._trace.span("run again, one kernel at a time"):
                self.session.profile(inputs)
        return outputs

    def _run_parts(self, inputs: Mapping[str, Array]) -> None:
        self._device.begin()
        with self._trace.span("run again, one part at a time"):
            times = self.session.profile_parts(inputs)
        # Each part starts as soon as the device has finished what comes before it.
        for part, time, at in zip(
            self.session.plan.parts, times, self._device.settled, strict=False
        ):
            details = {"file": part.file, "operators in the model": list(part.operators)}
            start = at + time.copy_in
            self._trace.events.append(Event("LiteRT", part.label, start, time.run, details))
