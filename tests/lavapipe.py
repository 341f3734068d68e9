"""Runs plans for Vulkan on lavapipe, Mesa's driver that computes on the processor.

tflgpu has no runtime for Vulkan, so that this is as little of one as tests need: host-visible
memory, a descriptor set for each dispatch, and a barrier after each.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from devices import need_packages, unavailable

from tflgpu.compiler import CompiledModel
from tflgpu.compiler.ir import Array
from tflgpu.compiler.tools.machine_code.radv import compute_pipeline, opened
from tflgpu.runtime.plan.records import Dispatch, Plan, Region, TensorInfo
from tflgpu.runtime.plan.storage import region_size

DRIVERS = sorted(Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json"))


@contextmanager
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lavapipe]:
    """The device; the test is skipped without Mesa's drivers or the Python package."""
    if not DRIVERS:
        unavailable("not installed: mesa-vulkan-drivers")
    need_packages("vulkan")
    vk: Any = importlib.import_module("vulkan")
    monkeypatch.setenv("VK_ICD_FILENAMES", str(DRIVERS[0]))
    with opened(vk) as (physical, made):
        yield Lavapipe(vk, physical, made)


@dataclass(frozen=True)
class _Buffer:
    handle: Any
    memory: Any
    content: Array  # Its bytes, which the device sees.


@dataclass(frozen=True)
class Lavapipe:
    """A Vulkan device. What it makes lives as long as it does, unless it is large."""

    vk: ModuleType
    physical: Any
    device: Any

    def run(self, compiled: CompiledModel, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs by name of a model for Vulkan, whose inputs and outputs take 4 bytes each."""
        plan = compiled.plan
        buffers = self._buffers(plan)
        buffers[Region.WEIGHTS, 0].content[: len(compiled.weights)] = compiled.weights
        for number, info in enumerate(plan.inputs):
            values = np.frombuffer(inputs[info.name].tobytes(), np.uint8)
            buffers[Region.INPUT, number].content[: values.size] = values
        self._submit(compiled, buffers)
        outputs = {
            info.name: _tensor(buffers[Region.OUTPUT, number].content, info)
            for number, info in enumerate(plan.outputs)
        }
        for buffer in buffers.values():
            self.vk.vkDestroyBuffer(self.device, buffer.handle, None)
            self.vk.vkFreeMemory(self.device, buffer.memory, None)
        return outputs

    def _buffers(self, plan: Plan) -> dict[tuple[Region, int], _Buffer]:
        regions = {(Region.ARENA, 0), (Region.WEIGHTS, 0)}
        regions |= {(Region.INPUT, number) for number in range(len(plan.inputs))}
        regions |= {(Region.OUTPUT, number) for number in range(len(plan.outputs))}
        return {key: self._buffer(region_size(plan, *key)) for key in regions}

    def _buffer(self, size: int) -> _Buffer:
        """Memory of at least that many bytes that both sides see; floats in it are NaN."""
        vk, size = self.vk, max(size, 16)
        usage = vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
        handle = vk.vkCreateBuffer(self.device, vk.VkBufferCreateInfo(size=size, usage=usage), None)
        needed = vk.vkGetBufferMemoryRequirements(self.device, handle).size
        # All memory of a processor is of one type.
        described = vk.VkMemoryAllocateInfo(allocationSize=needed, memoryTypeIndex=0)
        memory = vk.vkAllocateMemory(self.device, described, None)
        vk.vkBindBufferMemory(self.device, handle, memory, 0)
        mapped = vk.vkMapMemory(self.device, memory, 0, needed, 0)
        content = np.frombuffer(mapped, np.uint8)
        content[:] = 0xFF
        return _Buffer(handle, memory, content[:size])

    def _submit(
        self, compiled: CompiledModel, buffers: Mapping[tuple[Region, int], _Buffer]
    ) -> None:
        vk, device = self.vk, self.device
        pool = vk.vkCreateCommandPool(device, vk.VkCommandPoolCreateInfo(queueFamilyIndex=0), None)
        described = vk.VkCommandBufferAllocateInfo(
            commandPool=pool, level=vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY, commandBufferCount=1
        )
        (commands,) = vk.vkAllocateCommandBuffers(device, described)
        vk.vkBeginCommandBuffer(commands, vk.VkCommandBufferBeginInfo())
        for dispatch in compiled.plan.dispatches:
            self._record(commands, compiled, dispatch, buffers)
        vk.vkEndCommandBuffer(commands)
        queue = vk.vkGetDeviceQueue(device, 0, 0)
        vk.vkQueueSubmit(queue, 1, [vk.VkSubmitInfo(pCommandBuffers=[commands])], None)
        vk.vkQueueWaitIdle(queue)

    def _record(
        self,
        commands: Any,
        compiled: CompiledModel,
        dispatch: Dispatch,
        buffers: Mapping[tuple[Region, int], _Buffer],
    ) -> None:
        vk, kernel = self.vk, compiled.plan.kernels[dispatch.kernel]
        module = compiled.companions[kernel.file.removesuffix(".comp") + ".spv"]
        made = compute_pipeline(vk, self.device, module, kernel.parameters)
        compute = vk.VK_PIPELINE_BIND_POINT_COMPUTE
        bound = self._bound(made.sets, dispatch, buffers)
        vk.vkCmdBindPipeline(commands, compute, made.pipeline)
        vk.vkCmdBindDescriptorSets(commands, compute, made.layout, 0, 1, [bound], 0, None)
        x, y, z = (items // size for items, size in zip(dispatch.grid, kernel.group, strict=True))
        vk.vkCmdDispatch(commands, x, y, z)
        stage = vk.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT
        barrier = vk.VkMemoryBarrier(
            srcAccessMask=vk.VK_ACCESS_SHADER_WRITE_BIT,
            dstAccessMask=vk.VK_ACCESS_SHADER_READ_BIT | vk.VK_ACCESS_SHADER_WRITE_BIT,
        )
        vk.vkCmdPipelineBarrier(commands, stage, stage, 0, 1, [barrier], 0, None, 0, None)

    def _bound(
        self, sets: Any, dispatch: Dispatch, buffers: Mapping[tuple[Region, int], _Buffer]
    ) -> Any:
        """A descriptor set with the dispatch's arguments."""
        vk, kind = self.vk, self.vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
        count = len(dispatch.arguments)
        size = vk.VkDescriptorPoolSize(type=kind, descriptorCount=count)
        pool_info = vk.VkDescriptorPoolCreateInfo(maxSets=1, pPoolSizes=[size])
        pool = vk.vkCreateDescriptorPool(self.device, pool_info, None)
        described = vk.VkDescriptorSetAllocateInfo(descriptorPool=pool, pSetLayouts=[sets])
        (bound,) = vk.vkAllocateDescriptorSets(self.device, described)
        for number, item in enumerate(dispatch.arguments):
            part = vk.VkDescriptorBufferInfo(
                buffer=buffers[item.region, item.index].handle,
                offset=item.offset,
                range=item.size or vk.VK_WHOLE_SIZE,
            )
            write = vk.VkWriteDescriptorSet(
                dstSet=bound, dstBinding=number, descriptorType=kind, pBufferInfo=[part]
            )
            vk.vkUpdateDescriptorSets(self.device, 1, [write], 0, None)
        return bound


def _tensor(content: Array, info: TensorInfo) -> Array:
    count = int(np.prod(info.shape))
    return content[: 4 * count].view(info.dtype).reshape(info.shape).copy()
