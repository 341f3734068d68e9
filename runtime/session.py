"""A loaded model on a device: its buffers, its launches, and running them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from math import prod
from types import TracebackType
from typing import Any
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from .barriers import barriers
from .binaries import read_binary, write_binary
from .cache import Variant
from .device import Buffer, Device, DeviceInfo, Launch, Program
from .errors import CacheWarning, DeviceError, InputError, PlanError
from .inputs import arrays_for, device_arrays
from .plan import Argument, PlacedTensor, Plan, Region, TensorInfo
from .verify import DEVICE_TYPES, region_size, slices

Array = NDArray[Any]


class Session:
    """A model ready to run. Made by `tflgpu.load`; usable from several threads, one at a time.

    Closing it, or leaving its `with` block, gives all memory of the device back.
    """

    def __init__(self, variant: Variant, device: Device, store_binaries: bool = False) -> None:
        """Puts the variant on the device, which the session then owns.

        With `store_binaries`, kernels that had to be compiled are stored beside the plan; a
        CacheWarning says so if they cannot be. PlanError if the device cannot run the variant,
        DeviceError if the driver refuses something.
        """
        self.plan: Plan = variant.plan
        self._device: Device | None = device
        self._lock = threading.Lock()
        self._ran = False
        self._buffers: dict[tuple[Region, int], Buffer] = {}
        self._launches: list[Launch] = []
        self._contents: dict[int, Array] = {}
        """First contents of the variables that do not start with zeros."""
        try:
            objection = device.objection(self.plan)
            if objection is not None:
                raise PlanError(
                    f"{variant.folder} cannot run on {device.info}: {objection}; compile the "
                    f"model for this device: tflgpu-compile --target {device.info.target} "
                    f"--device '{device.info.name}'"
                )
            self._place(device, variant.weights)
            restored = self._restore(device, variant)
            programs = restored or self._compile(device, variant)
            # Before anything runs on them.
            variant.check_weights()
            if restored is None and store_binaries and device.has_binaries:
                self._store(device, variant, programs)
        except BaseException:
            self.close()
            raise

    def _place(self, device: Device, weights: memoryview) -> None:
        """Allocate every region."""
        plan = self.plan
        self._buffers[Region.ARENA, 0] = device.allocate(plan.arena_size)
        self._buffers[Region.WEIGHTS, 0] = device.constant(weights)
        for region, infos in ((Region.INPUT, plan.inputs), (Region.OUTPUT, plan.outputs)):
            for index in range(len(infos)):
                size = region_size(plan, region, index)
                self._buffers[region, index] = device.allocate(size)
        for index, variable in enumerate(plan.variables):
            size = region_size(plan, Region.STATE, index)
            self._buffers[Region.STATE, index] = device.allocate(size)
            if variable.content is not None:
                end = variable.content + variable.size
                self._contents[index] = np.frombuffer(
                    weights[variable.content : end], np.uint8
                ).copy()
        self._forget(device)

    def _forget(self, device: Device) -> None:
        """Give every variable its first content."""
        for index in range(len(self.plan.variables)):
            buffer = self._buffers[Region.STATE, index]
            device.fill(buffer, region_size(self.plan, Region.STATE, index), 0)
            if index in self._contents:
                device.upload(buffer, self._contents[index])
        device.finish()

    def _restore(self, device: Device, variant: Variant) -> list[Program] | None:
        """The kernels as they were compiled before; None if they must be compiled."""
        binary = read_binary(variant.folder, device, self.plan)
        programs = None if binary is None else device.restore(self.plan, binary)
        if programs is not None:
            try:
                self._launches = self._bind(device, programs)
            except DeviceError:
                # A driver may find out only now that the binary is not its own.
                return None
        return programs

    def _compile(self, device: Device, variant: Variant) -> list[Program]:
        programs = device.build(self.plan, variant.sources)
        self._launches = self._bind(device, programs)
        return programs

    def _store(self, device: Device, variant: Variant, programs: Sequence[Program]) -> None:
        """Keep compiled kernels beside the plan.

        Everything runs once for it, on zeros: some drivers compile at a kernel's first launch.
        """
        for index in range(len(self.plan.inputs)):
            size = region_size(self.plan, Region.INPUT, index)
            device.fill(self._buffers[Region.INPUT, index], size, 0)
        device.dispatch(self._launches)
        self._forget(device)
        binary = device.binary(programs)
        if binary is not None:
            try:
                write_binary(variant.folder, device, self.plan, binary)
            except PlanError as error:
                warn(
                    f"the compiled kernels are not stored, so the next start is slow, too: {error}",
                    CacheWarning,
                    stacklevel=7,
                )

    def _bind(self, device: Device, programs: Sequence[Program]) -> list[Launch]:
        """Bind every dispatch to its kernel and its pieces of memory."""
        kernels = self.plan.kernels
        parts: dict[tuple[Region, int, int, int], Buffer] = {}
        launches = []
        dispatches = self.plan.dispatches
        for dispatch, barrier in zip(dispatches, barriers(dispatches), strict=True):
            arguments = [self._part(device, argument, parts) for argument in dispatch.arguments]
            group = kernels[dispatch.kernel].group
            program = programs[dispatch.kernel]
            launches.append(device.prepare(program, arguments, dispatch.grid, group, barrier))
        return launches

    def _part(
        self,
        device: Device,
        argument: Argument,
        parts: dict[tuple[Region, int, int, int], Buffer],
    ) -> Buffer:
        """The memory of an argument; pieces that several dispatches use are made once."""
        buffer = self._buffers[argument.region, argument.index]
        whole = region_size(self.plan, argument.region, argument.index)
        # No driver makes an empty piece; a kernel that is given one never reads it.
        if argument.size in (0, whole):
            return buffer
        key = (argument.region, argument.index, argument.offset, argument.size)
        if key not in parts:
            parts[key] = device.part(buffer, argument.offset, argument.size)
        return parts[key]

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
        arrays = device_arrays(self.plan.inputs, arrays_for(self.plan.inputs, inputs))
        infos = self.plan.outputs
        with self._lock:
            device = self._opened()
            self._upload(device, arrays)
            device.dispatch(self._launches)
            results = [np.empty(info.shape, DEVICE_TYPES[info.dtype]) for info in infos]
            for index, result in enumerate(results):
                device.download(self._buffers[Region.OUTPUT, index], result)
            device.finish()
            self._ran = True
        return {
            info.name: result.astype(info.dtype, copy=False)
            for info, result in zip(infos, results, strict=True)
        }

    def profile(self, inputs: Any = ()) -> list[tuple[int, float]]:
        """Run the model dispatch by dispatch; (index of the dispatch, seconds on the device)."""
        arrays = device_arrays(self.plan.inputs, arrays_for(self.plan.inputs, inputs))
        with self._lock:
            device = self._opened()
            self._upload(device, arrays)
            device.finish()
            times = device.profile(self._launches)
            self._ran = True
        return list(enumerate(times))

    def _upload(self, device: Device, arrays: Sequence[Array]) -> None:
        for index, array in enumerate(arrays):
            device.upload(self._buffers[Region.INPUT, index], array)

    def reset(self) -> None:
        """Let the model forget: what it keeps between runs is as it was before the first.

        DeviceError if the session is closed. Does nothing for a model that keeps nothing.
        """
        with self._lock:
            self._forget(self._opened())

    # -- looking inside ---------------------------------------------------------------------

    def read(self, name: str) -> Array:
        """The content of a tensor after the last run, in the shape the model gives it.

        Every tensor can be read of a plan that was compiled with `keep_intermediates`; of others,
        a tensor whose memory another one has taken over since shows that one's content.
        InputError if there is no such tensor or nothing has run yet.
        """
        tensor = self._tensor(name)
        with self._lock:
            device = self._opened()
            if not self._ran:
                raise InputError(f"{name} has no content before the first run")
            content = np.empty(tensor.size, np.uint8)
            buffer = self._buffers[tensor.region, tensor.index]
            device.download(buffer, content, tensor.offset)
            device.finish()
        return _unpack(tensor, content)

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
            device = self._opened()
            for (region, index), buffer in self._buffers.items():
                if region in (Region.ARENA, Region.OUTPUT):
                    device.fill(buffer, region_size(self.plan, region, index), byte)
            device.finish()

    # -- the end ----------------------------------------------------------------------------

    def _opened(self) -> Device:
        if self._device is None:
            raise DeviceError("the session is closed; load the model again")
        return self._device

    def close(self) -> None:
        """Give all memory of the device back; closing twice does no harm."""
        with self._lock:
            device, self._device = self._device, None
            self._launches = []
            self._buffers = {}
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


def _unpack(tensor: PlacedTensor, content: Array) -> Array:
    """The bytes of a tensor as an array of its shape."""
    dtype = np.dtype("float16" if tensor.half else DEVICE_TYPES[tensor.dtype])
    extents = slices(tensor) if tensor.lanes else tensor.shape
    elements = content[: prod(extents) * dtype.itemsize].view(dtype).reshape(extents)
    if not tensor.lanes:
        return elements.astype(tensor.dtype, copy=False)
    # [batch, slice, height, width, lane] to [batch, height, width, channel]
    batch, _, height, width, _ = extents
    wide = elements.transpose(0, 2, 3, 1, 4).reshape(batch, height, width, -1)
    channels = tensor.shape[-1] if tensor.shape else 1
    return wide[..., :channels].reshape(tensor.shape).astype(tensor.dtype)
