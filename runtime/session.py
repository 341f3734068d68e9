"""A loaded model on a device: its buffers, its launches, and running them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from types import TracebackType
from typing import Any
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from .binaries import read_binary, write_binary
from .cache import Variant, read_sources
from .device import Buffer, Device, DeviceInfo, Launch
from .errors import CacheWarning, DeviceError, InputError, PlanError
from .extents import DEVICE_TYPES
from .host_part import Part, open_parts
from .inputs import arrays_for, device_arrays
from .launches import Launches, compile_launches, restore_launches
from .plan import PlacedTensor, Plan, Region, TensorInfo
from .regions import Regions
from .schedule import Step, schedule

Array = NDArray[Any]


@dataclass(frozen=True)
class PartTime:
    """Seconds that a part on LiteRT took, copies between device and host included."""

    copy_in: float
    run: float
    copy_out: float


class Session:
    """A model ready to run. Made by `tflgpu.load`; usable from several threads, one at a time.

    Closing it, or leaving its `with` block, gives all memory of the device back.
    """

    def __init__(self, variant: Variant, device: Device, store_binaries: bool = False) -> None:
        """Puts the variant on the device, which the session then owns.

        With `store_binaries`, kernels that had to be compiled are stored beside the plan; a
        CacheWarning says so if they cannot be. PlanError if the device cannot run the variant,
        DeviceError if the driver refuses something, or parts of the model run on LiteRT and it is
        not installed.
        """
        self.plan: Plan = variant.plan
        self._device: Device | None = device
        self._lock = threading.Lock()
        self._ran = False
        self._regions: Regions | None = None
        self._folder = variant.folder
        self._launches = Launches((), ())
        """Those of a run."""
        self._single: Launches | None = None
        """The same with a launch for each dispatch, once that was asked for."""
        self._parts: list[Part] = []
        self._uploaded = _uploaded(self.plan)
        try:
            objection = device.objection(self.plan)
            if objection is not None:
                raise PlanError(
                    f"{variant.folder} cannot run on {device.info}: {objection}; compile the "
                    f"model for this device: tflgpu-compile --target {device.info.target} "
                    f"--device '{device.info.name}'"
                )
            self._parts = open_parts(variant)
            self._regions = Regions(self.plan, device, variant.weights.content)
            steps = schedule(self.plan, device.resident_groups)
            restored = self._restore(device, variant, steps)
            self._launches = restored or compile_launches(
                self.plan, steps, device, self._buffers, variant.sources
            )
            # Before anything runs on them.
            variant.weights.check(self.plan)
            if restored is None and store_binaries and device.has_binaries:
                self._store(device, variant, self._launches)
        except BaseException:
            self.close()
            raise

    def _restore(self, device: Device, variant: Variant, steps: Sequence[Step]) -> Launches | None:
        """The launches of kernels that were compiled before; None if they must be compiled."""
        binary = read_binary(variant.folder, device, self.plan)
        if binary is None:
            return None
        return restore_launches(self.plan, steps, device, self._buffers, binary)

    def _store(self, device: Device, variant: Variant, launches: Launches) -> None:
        """Keep compiled kernels beside the plan.

        Everything runs once for it, on zeros: some drivers compile at a kernel's first launch.
        """
        memory = self._memory()
        memory.fill((Region.INPUT,), 0)
        for stretch in launches.stretches:
            device.dispatch(stretch)
        memory.forget()
        binary = device.binary(launches.programs)
        if binary is not None:
            try:
                write_binary(variant.folder, device, self.plan, binary)
            except PlanError as error:
                warn(
                    f"the compiled kernels are not stored, so the next start is slow, too: {error}",
                    CacheWarning,
                    stacklevel=7,
                )

    # -- running ----------------------------------------------------------------------------

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """What the model takes, in its order."""
        return self.plan.inputs

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """What the model gives, in its order."""
        return self.plan.outputs

    @property
    def device(self) -> DeviceInfo:
        """The device the model runs on (DeviceError if the session is closed)."""
        return self._opened().info

    def run(self, inputs: Any = ()) -> dict[str, Array]:
        """Run the model; its outputs by name, in its order, as arrays of the caller's own.

        `inputs` is a mapping by name, a sequence by position, or one array. Arrays may be of any
        layout; their types must be the model's, or be safe to convert to it. InputError names all
        inputs that do not fit, DeviceError is the driver's or says that the session is closed.
        """
        arrays = arrays_for(self.plan.inputs, inputs)
        on_device = self._device_inputs(arrays)
        with self._lock:
            device = self._opened()
            self._upload(device, on_device)
            values = self._execute(device, arrays, self._launches, device.dispatch)
            results = self._results(device, values)
            self._ran = True
        return {
            info.name: result if info.dtype == "string" else result.astype(info.dtype, copy=False)
            for info, result in zip(self.plan.outputs, results, strict=True)
        }

    def profile(self, inputs: Any = ()) -> list[tuple[int, float]]:
        """Run the model dispatch by dispatch; (index of the dispatch, seconds on the device).

        Where runs launch persistent kernels, the first call compiles the dispatches' own ones,
        whose sources it reads from the plan's folder (PlanError, BuildError).
        """
        times: list[float] = []

        def dispatch(launches: Sequence[Launch]) -> None:
            times.extend(device.profile(launches))

        arrays = arrays_for(self.plan.inputs, inputs)
        on_device = self._device_inputs(arrays)
        with self._lock:
            device = self._opened()
            self._upload(device, on_device)
            device.finish()
            self._execute(device, arrays, self._one_by_one(device), dispatch)
            device.finish()
            self._ran = True
        return list(enumerate(times))

    def profile_parts(self, inputs: Any = ()) -> list[PartTime]:
        """Run the model; what each of `plan.parts` took."""
        times: list[PartTime] = []
        arrays = arrays_for(self.plan.inputs, inputs)
        on_device = self._device_inputs(arrays)
        with self._lock:
            device = self._opened()
            self._upload(device, on_device)
            self._execute(device, arrays, self._launches, device.dispatch, times)
            device.finish()
            self._ran = True
        return times

    def _device_inputs(self, arrays: Sequence[Array]) -> list[Array]:
        """Those inputs that the device reads, as it has them."""
        infos = [self.plan.inputs[index] for index in self._uploaded]
        return device_arrays(infos, [arrays[index] for index in self._uploaded])

    def _upload(self, device: Device, arrays: Sequence[Array]) -> None:
        for index, array in zip(self._uploaded, arrays, strict=True):
            device.upload(self._buffers[Region.INPUT, index], array)

    def _execute(
        self,
        device: Device,
        arrays: Sequence[Array],
        launches: Launches,
        dispatch: Callable[[Sequence[Launch]], None],
        times: list[PartTime] | None = None,
    ) -> dict[int, Array]:
        """Launches and parts in their order; the tensors of the host, by their index.

        `times` gets what each part took, for which everything before it has to be waited for.
        """
        tensors = self.plan.host_tensors
        values = {i: arrays[t.input] for i, t in enumerate(tensors) if t.input >= 0}
        *before, last = launches.stretches
        for part, stretch in zip(self._parts, before, strict=True):
            dispatch(stretch)
            if times is not None:
                device.finish()
            start = perf_counter()
            self._fetch(device, part, values)
            fetched = perf_counter()
            results = part.run([values[index] for index in part.record.inputs])
            ran = perf_counter()
            values.update(zip(part.record.outputs, results, strict=True))
            self._hand_over(device, part, values)
            if times is not None:
                times.append(PartTime(fetched - start, ran - fetched, perf_counter() - ran))
        dispatch(last)
        return values

    def _one_by_one(self, device: Device) -> Launches:
        """Every dispatch as a launch of its own, of kernels that runs may not have needed."""
        if not self.plan.persistent or not device.resident_groups:
            return self._launches
        if self._single is None:
            steps, sources = schedule(self.plan, 0), read_sources(self._folder, self.plan)
            self._single = compile_launches(self.plan, steps, device, self._buffers, sources)
        return self._single

    def _fetch(self, device: Device, part: Part, values: dict[int, Array]) -> None:
        """Copy from the device what a part reads and the host does not have yet."""
        tensors = self.plan.host_tensors
        missing = [index for index in dict.fromkeys(part.record.inputs) if index not in values]
        for index in missing:
            tensor = tensors[index]
            assert tensor.place is not None
            values[index] = np.empty(tensor.shape, DEVICE_TYPES[tensor.dtype])
            buffer = self._buffers[tensor.place.region, tensor.place.index]
            device.download(buffer, values[index], tensor.place.offset)
        if missing:
            device.finish()
        for index in missing:
            values[index] = values[index].astype(tensors[index].dtype, copy=False)

    def _hand_over(self, device: Device, part: Part, values: dict[int, Array]) -> None:
        """Copy to the device what a part has written and the device needs."""
        written = [(self.plan.host_tensors[index], index) for index in part.record.outputs]
        placed = [(tensor, values[index]) for tensor, index in written if tensor.place is not None]
        arrays = device_arrays([t for t, _ in placed], [array for _, array in placed])
        for (tensor, _), array in zip(placed, arrays, strict=True):
            assert tensor.place is not None
            buffer = self._buffers[tensor.place.region, tensor.place.index]
            device.upload(buffer, array, tensor.place.offset)
        if arrays:
            device.finish()  # the arrays must live until then

    def _results(self, device: Device, values: dict[int, Array]) -> list[Array]:
        """The model's outputs, from the host where parts have written them."""
        tensors = self.plan.host_tensors
        given = {tensors[i].output: array for i, array in values.items()}
        results = []
        for index, info in enumerate(self.plan.outputs):
            if index in given:
                results.append(given[index])
            else:
                results.append(np.empty(info.shape, DEVICE_TYPES[info.dtype]))
                device.download(self._buffers[Region.OUTPUT, index], results[-1])
        device.finish()
        return results

    def reset(self) -> None:
        """Let the model forget: what it keeps between runs is as it was before the first.

        DeviceError if the session is closed. Does nothing for a model that keeps nothing.
        """
        with self._lock:
            self._memory().forget()
            for part in self._parts:
                part.reset()

    # -- looking inside ---------------------------------------------------------------------

    def read(self, name: str) -> Array:
        """The content of a tensor after the last run, in the shape the model gives it.

        Every tensor can be read of a plan that was compiled with `keep_intermediates`; of others,
        a tensor whose memory another one has taken over since shows that one's content.
        InputError if there is no such tensor or nothing has run yet.
        """
        tensor = self._tensor(name)
        with self._lock:
            memory = self._memory()
            if not self._ran:
                raise InputError(f"{name} has no content before the first run")
            return memory.read(tensor)

    def _tensor(self, name: str) -> PlacedTensor:
        for tensor in self.plan.tensors:
            if tensor.name == name:
                return tensor
        from difflib import get_close_matches

        near = get_close_matches(name, [tensor.name for tensor in self.plan.tensors], n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise InputError(f"the plan has no tensor {name!r} in memory{hint}")

    def poison(self, byte: int = 0xFF) -> None:
        """Fill the arena and the outputs with a value; 0xFF makes floats NaN.

        For tests that must see whether a kernel writes all it has to before anything reads it.
        """
        with self._lock:
            self._memory().fill((Region.ARENA, Region.OUTPUT), byte)
            self._opened().finish()

    # -- the end ----------------------------------------------------------------------------

    def _opened(self) -> Device:
        if self._device is None:
            raise DeviceError("the session is closed; load the model again")
        return self._device

    def _memory(self) -> Regions:
        self._opened()
        assert self._regions is not None
        return self._regions

    @property
    def _buffers(self) -> Mapping[tuple[Region, int], Buffer]:
        return self._memory().buffers

    def close(self) -> None:
        """Give all memory of the device back; closing twice does no harm."""
        with self._lock:
            device, self._device = self._device, None
            self._launches, self._single = Launches((), ()), None
            self._parts = []
            self._regions = None
            if device is not None:
                device.release()

    def __enter__(self) -> Session:
        self._opened()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _uploaded(plan: Plan) -> list[int]:
    """The inputs that something on the device, or a copy from it, reads."""
    places = [tensor.place for tensor in plan.host_tensors if tensor.place is not None]
    arguments = [argument for dispatch in plan.dispatches for argument in dispatch.arguments]
    used = {span.index for span in (*places, *arguments) if span.region is Region.INPUT}
    return sorted(used)
