"""The buffers of a plan on a device: the arena, the weights, inputs, outputs and variables."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..plan.records import PlacedTensor, Plan, Region
from ..plan.storage import device_dtype, region_size, sliced_shape
from .device import Buffer, Device

Array = NDArray[Any]
STATE = Region.STATE


class DeviceMemory:
    """One buffer for each region and index. Releasing the device frees them."""

    def __init__(
        self, plan: Plan, device: Device, weights: memoryview, beside: Sequence[DeviceMemory] = ()
    ) -> None:
        """Allocate all buffers and initialize the variables (DeviceError).

        `beside` is the memory of plans on the same weights, of which one runs at a time: they have
        a single buffer of weights, an arena in common if one is large enough, and one buffer for
        variables of the same name, which keep their content.
        """
        self._plan, self._device = plan, device
        # Initial content of the variables that do not start with zeros.
        self._initial: dict[int, Array] = {}
        large = (other for other in beside if other.arena_size >= plan.arena_size)
        shared = next(large, None)
        # Bytes of the arena's buffer.
        self.arena_size: int = shared.arena_size if shared else plan.arena_size
        self.buffers: dict[tuple[Region, int], Buffer] = {
            (Region.ARENA, 0): (
                shared.buffers[Region.ARENA, 0] if shared else device.allocate(plan.arena_size)
            ),
            (Region.WEIGHTS, 0): (
                beside[0].buffers[Region.WEIGHTS, 0] if beside else device.constant(weights)
            ),
        }
        counts = {
            Region.INPUT: len(plan.inputs),
            Region.OUTPUT: len(plan.outputs),
            Region.STATE: len(plan.variables),
        }
        # The buffer of each variable of this plan and of those before it, by name.
        self.variables: dict[str, Buffer] = {}
        for other in beside:
            self.variables |= other.variables
        for region, count in counts.items():
            for index in range(count):
                size = region_size(plan, region, index)
                known = self.variables.get(plan.variables[index].name) if region is STATE else None
                self.buffers[region, index] = known or device.allocate(size)
        for index, variable in enumerate(plan.variables):
            if variable.content is not None:
                end = variable.content + variable.size
                content = np.frombuffer(weights[variable.content : end], np.uint8)
                self._initial[index] = content.copy()
        new = [n for n, item in enumerate(plan.variables) if item.name not in self.variables]
        self.variables |= {plan.variables[n].name: self.buffers[STATE, n] for n in new}
        self._initialize(new)

    def reset(self) -> None:
        self._initialize(range(len(self._plan.variables)))

    def _initialize(self, variables: Sequence[int]) -> None:
        for index in variables:
            buffer = self.buffers[STATE, index]
            self._device.fill(buffer, region_size(self._plan, STATE, index), 0)
            if index in self._initial:
                self._device.upload(buffer, self._initial[index])
        self._device.finish()

    def state(self) -> dict[int, Array]:
        contents = {}
        for index, variable in enumerate(self._plan.variables):
            contents[index] = np.empty(variable.reach, np.uint8)
            self._device.download(self.buffers[STATE, index], contents[index])
        self._device.finish()
        return contents

    def restore(self, contents: Mapping[int, Array]) -> None:
        for index, content in contents.items():
            self._device.upload(self.buffers[STATE, index], content)
        self._device.finish()

    def fill(self, regions: Container[Region], byte: int) -> None:
        """Set every byte of the buffers of some regions to one value."""
        for (region, index), buffer in self.buffers.items():
            if region in regions:
                self._device.fill(buffer, region_size(self._plan, region, index), byte)

    def read(self, tensor: PlacedTensor) -> Array:
        """The present content of a tensor's memory, in the tensor's shape and dtype."""
        content = np.empty(tensor.size, np.uint8)
        buffer = self.buffers[tensor.region, tensor.index]
        self._device.download(buffer, content, tensor.offset)
        self._device.finish()
        return _unpack(tensor, content)


def _unpack(tensor: PlacedTensor, content: Array) -> Array:
    dtype = np.dtype(tensor.stored or device_dtype(tensor.dtype))
    stored = sliced_shape(tensor) if tensor.lanes else tensor.shape
    elements = content[: prod(stored) * dtype.itemsize].view(dtype).reshape(stored)
    if tensor.lanes:
        # [batch, slice, height, width, lane] to [batch, height, width, channel]
        batch, _, height, width, _ = stored
        padded = elements.transpose(0, 2, 3, 1, 4).reshape(batch, height, width, -1)
        channels = tensor.shape[-1] if tensor.shape else 1
        elements = padded[..., :channels].reshape(tensor.shape)
    numbers = elements.astype(tensor.dtype, copy=bool(tensor.lanes))
    return numbers + np.float32(tensor.base) if tensor.base else numbers
