"""A variant on a device: its memory, its launches and parts, and going through them once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from .errors import CacheWarning, DeviceError, PlanError
from .inputs import device_arrays
from .launch.device import Device, Launch
from .launch.launches import Launches, compile_launches, restore_launches
from .launch.regions import Regions
from .launch.schedule import Step, schedule
from .litert.part import Part, open_parts
from .plan.records import Plan, Region
from .plan.sizes import DEVICE_TYPES
from .store.binaries import read_binary, write_binary
from .store.variant import Variant, read_sources

Array = NDArray[Any]


@dataclass(frozen=True)
class PartTime:
    """Seconds that a part on LiteRT took, copies between device and host included."""

    copy_in: float
    run: float
    copy_out: float


class Execution:
    """What a session runs, from one thread at a time. Whoever makes it releases it."""

    def __init__(self, variant: Variant, device: Device, store_binaries: bool) -> None:
        """Puts the variant on the device, which is released with it, or if that fails.

        PlanError, DeviceError and CacheWarning are those of `Session`.
        """
        self.device = device
        self._plan: Plan = variant.plan
        self._folder = variant.folder
        self._single: Launches | None = None
        """A launch for each dispatch, once that was asked for."""
        self._uploaded = _uploaded(self._plan)
        try:
            objection = device.objection(self._plan)
            if objection is not None:
                raise PlanError(
                    f"{variant.folder} cannot run on {device.info}: {objection}; compile the "
                    f"model for this device: tflgpu-compile --target {device.info.target} "
                    f"--device '{device.info.name}'"
                )
            self._parts = open_parts(variant)
            self.memory = Regions(self._plan, device, variant.weights.content)
            steps = schedule(self._plan, device.resident_groups)
            restored = self._restore(steps)
            self._launches = restored or compile_launches(
                self._plan, steps, device, self.memory.buffers, variant.sources
            )
            # Before anything runs on them.
            variant.weights.check(self._plan)
            if restored is None and store_binaries and device.has_binaries:
                self._store()
        except BaseException:
            device.release()
            raise

    def _restore(self, steps: Sequence[Step]) -> Launches | None:
        """The launches of kernels that were compiled before; None if they must be compiled."""
        binary = read_binary(self._folder, self.device, self._plan)
        if binary is None:
            return None
        return restore_launches(self._plan, steps, self.device, self.memory.buffers, binary)

    def _store(self) -> None:
        """Keep compiled kernels beside the plan.

        Everything runs once for it, on zeros: some drivers compile at a kernel's first launch.
        """
        self.memory.fill((Region.INPUT,), 0)
        for stretch in self._launches.stretches:
            self.device.dispatch(stretch)
        self.memory.forget()
        binary = self.device.binary(self._launches.programs)
        if binary is not None:
            try:
                write_binary(self._folder, self.device, self._plan, binary)
            except PlanError as error:
                warn(
                    f"the compiled kernels are not stored, so the next start is slow, too: {error}",
                    CacheWarning,
                    stacklevel=8,
                )

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        """The outputs, in the model's order, of inputs that fit it."""
        with self._settled():
            self._upload(arrays)
            dispatch = self.device.dispatch
            return self._results(self._execute(arrays, self._launches.recorded, dispatch))

    def profile(self, arrays: Sequence[Array]) -> list[float]:
        """Seconds each dispatch takes on the device, launched alone."""
        times: list[float] = []

        def dispatch(launches: Sequence[Launch]) -> None:
            times.extend(self.device.profile(launches))

        with self._settled():
            self._upload(arrays)
            self.device.finish()
            self._execute(arrays, self._one_by_one().stretches, dispatch)
            self.device.finish()
        return times

    def profile_parts(self, arrays: Sequence[Array]) -> list[PartTime]:
        """What each part takes."""
        times: list[PartTime] = []
        with self._settled():
            self._upload(arrays)
            self._execute(arrays, self._launches.recorded, self.device.dispatch, times)
            self.device.finish()
        return times

    def forget(self) -> None:
        """Let variables and parts be as they were before the first run."""
        self.memory.forget()
        for part in self._parts:
            part.reset()

    @contextmanager
    def _settled(self) -> Iterator[None]:
        """What fails amid a run leaves nothing running, which the next run would run into."""
        try:
            yield
        except BaseException:
            with suppress(DeviceError):
                self.device.finish()
            raise

    def _upload(self, arrays: Sequence[Array]) -> None:
        """Copy those inputs that the device reads, as it has them."""
        infos = [self._plan.inputs[index] for index in self._uploaded]
        given = device_arrays(infos, [arrays[index] for index in self._uploaded])
        for index, array in zip(self._uploaded, given, strict=True):
            self.device.upload(self.memory.buffers[Region.INPUT, index], array)

    def _execute(
        self,
        arrays: Sequence[Array],
        stretches: Sequence[Sequence[Launch]],
        dispatch: Callable[[Sequence[Launch]], None],
        times: list[PartTime] | None = None,
    ) -> dict[int, Array]:
        """Launches and parts in their order; the tensors of the host, by their index.

        `times` gets what each part took, for which everything before it has to be waited for.
        """
        tensors = self._plan.host_tensors
        values = {i: arrays[t.input] for i, t in enumerate(tensors) if t.input >= 0}
        *before, last = stretches
        for part, stretch in zip(self._parts, before, strict=True):
            dispatch(stretch)
            if times is not None:
                self.device.finish()
            start = perf_counter()
            self._fetch(part, values)
            fetched = perf_counter()
            results = part.run([values[index] for index in part.record.inputs])
            ran = perf_counter()
            values.update(zip(part.record.outputs, results, strict=True))
            self._hand_over(part, values)
            if times is not None:
                times.append(PartTime(fetched - start, ran - fetched, perf_counter() - ran))
        dispatch(last)
        return values

    def _one_by_one(self) -> Launches:
        """Every dispatch as a launch of its own, of kernels that runs may not have needed."""
        if not self._plan.persistent or not self.device.resident_groups:
            return self._launches
        if self._single is None:
            steps, sources = schedule(self._plan, 0), read_sources(self._folder, self._plan)
            self._single = compile_launches(
                self._plan, steps, self.device, self.memory.buffers, sources
            )
        return self._single

    def _fetch(self, part: Part, values: dict[int, Array]) -> None:
        """Copy from the device what a part reads and the host does not have yet."""
        tensors = self._plan.host_tensors
        missing = [index for index in dict.fromkeys(part.record.inputs) if index not in values]
        for index in missing:
            tensor = tensors[index]
            assert tensor.place is not None
            values[index] = np.empty(tensor.shape, DEVICE_TYPES[tensor.dtype])
            buffer = self.memory.buffers[tensor.place.region, tensor.place.index]
            self.device.download(buffer, values[index], tensor.place.offset)
        if missing:
            self.device.finish()
        for index in missing:
            values[index] = values[index].astype(tensors[index].dtype, copy=False)

    def _hand_over(self, part: Part, values: dict[int, Array]) -> None:
        """Copy to the device what a part has written and the device needs."""
        written = [(self._plan.host_tensors[index], index) for index in part.record.outputs]
        placed = [(tensor, values[index]) for tensor, index in written if tensor.place is not None]
        arrays = device_arrays([t for t, _ in placed], [array for _, array in placed])
        for (tensor, _), array in zip(placed, arrays, strict=True):
            assert tensor.place is not None
            buffer = self.memory.buffers[tensor.place.region, tensor.place.index]
            self.device.upload(buffer, array, tensor.place.offset)
        if arrays:
            self.device.finish()  # the arrays must live until then

    def _results(self, values: dict[int, Array]) -> list[Array]:
        """The model's outputs, from the host where parts have written them."""
        tensors = self._plan.host_tensors
        given = {tensors[i].output: array for i, array in values.items()}
        results = []
        for index, info in enumerate(self._plan.outputs):
            if index in given:
                results.append(given[index])
            else:
                results.append(np.empty(info.shape, DEVICE_TYPES[info.dtype]))
                self.device.download(self.memory.buffers[Region.OUTPUT, index], results[-1])
        self.device.finish()
        return results


def _uploaded(plan: Plan) -> list[int]:
    """The inputs that something on the device, or a copy from it, reads."""
    places = [tensor.place for tensor in plan.host_tensors if tensor.place is not None]
    arguments = [argument for dispatch in plan.dispatches for argument in dispatch.arguments]
    used = {span.index for span in (*places, *arguments) if span.region is Region.INPUT}
    return sorted(used)
