"""What it takes to compile a kernel in SPIR-V with a driver of Vulkan."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple


class Pipeline(NamedTuple):
    """A kernel as a driver has compiled it, and what it was made of."""

    pipeline: Any
    layout: Any
    sets: Any  # The layout of its descriptor sets.
    shader: Any


@contextmanager
def opened(vulkan: Any, **extended: Any) -> Iterator[tuple[Any, Any]]:
    """The first physical device, and the device with `extended` that is open in the block.

    `vulkan` is PyPI's package; the variable VK_ICD_FILENAMES names the driver.
    """
    application = vulkan.VkApplicationInfo(apiVersion=vulkan.VK_MAKE_VERSION(1, 1, 0))
    described = vulkan.VkInstanceCreateInfo(pApplicationInfo=application)
    instance = vulkan.vkCreateInstance(described, None)
    try:
        physical = vulkan.vkEnumeratePhysicalDevices(instance)[0]
        queue = vulkan.VkDeviceQueueCreateInfo(
            queueFamilyIndex=0, queueCount=1, pQueuePriorities=[1.0]
        )
        described = vulkan.VkDeviceCreateInfo(pQueueCreateInfos=[queue], **extended)
        device = vulkan.vkCreateDevice(physical, described, None)
        try:
            yield physical, device
        finally:
            vulkan.vkDestroyDevice(device, None)
    finally:
        vulkan.vkDestroyInstance(instance, None)


def compute_pipeline(
    vulkan: Any, device: Any, module: bytes, buffers: int, flags: int = 0
) -> Pipeline:
    """The kernel of a module in SPIR-V that takes so many buffers."""
    # Structures do not keep alive what they point to, so that each has a variable.
    bindings = [
        vulkan.VkDescriptorSetLayoutBinding(
            binding=number,
            descriptorType=vulkan.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            descriptorCount=1,
            stageFlags=vulkan.VK_SHADER_STAGE_COMPUTE_BIT,
        )
        for number in range(buffers)
    ]
    set_info = vulkan.VkDescriptorSetLayoutCreateInfo(pBindings=bindings)
    sets = vulkan.vkCreateDescriptorSetLayout(device, set_info, None)
    layout_info = vulkan.VkPipelineLayoutCreateInfo(pSetLayouts=[sets])
    layout = vulkan.vkCreatePipelineLayout(device, layout_info, None)
    shader_info = vulkan.VkShaderModuleCreateInfo(codeSize=len(module), pCode=module)
    shader = vulkan.vkCreateShaderModule(device, shader_info, None)
    stage = vulkan.VkPipelineShaderStageCreateInfo(
        stage=vulkan.VK_SHADER_STAGE_COMPUTE_BIT, module=shader, pName="main"
    )
    info = vulkan.VkComputePipelineCreateInfo(flags=flags, stage=stage, layout=layout)
    (pipeline,) = vulkan.vkCreateComputePipelines(device, None, 1, [info], None)
    return Pipeline(pipeline, layout, sets, shader)
