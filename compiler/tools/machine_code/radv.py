"""RADV, Mesa's compiler for AMD's GPUs: what it makes of Vulkan kernels, without a GPU.

With RADV_FORCE_FAMILY the driver offers a device that compiles and never runs, whose statistics
VK_KHR_pipeline_executable_properties gives. They are static: a loop counts once, and so does each
side of a branch.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from ...codegen.translate import ToolError
from .programs import MachineCode, Module, count


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


FAMILY = "NAVI21"  # The GPU that RADV compiles for: RDNA 2, as in the Radeon RX 6800.
DRIVERS = Path("/usr/share/vulkan/icd.d")
EXTENSION = "VK_KHR_pipeline_executable_properties"
ASSEMBLY = "Assembly"  # RADV's name for the machine code.
LANES = 64  # RADV runs compute shaders in waves of 64, unless told otherwise.


def compile_modules(modules: Mapping[str, Module]) -> dict[str, MachineCode]:
    """What RADV makes of kernels in SPIR-V (ToolError, also for groups larger than its limits)."""
    with _device() as (vulkan, physical, device):
        limits = vulkan.vkGetPhysicalDeviceProperties(physical).limits
        for name, module in modules.items():
            _check_group(name, module.group, limits)
        return {
            name: _compile(vulkan, device, module.content, module.parameters)
            for name, module in modules.items()
        }


def _check_group(name: str, group: tuple[int, int, int], limits: Any) -> None:
    """RADV compiles kernels that no device would launch, so that what it allows is asked first."""
    axes, most = tuple(limits.maxComputeWorkGroupSize), limits.maxComputeWorkGroupInvocations
    if prod(group) > most or any(size > axis for size, axis in zip(group, axes, strict=True)):
        raise ToolError(
            f"radv refuses {name}: a work-group of {' x '.join(map(str, group))}, but it takes at "
            f"most {' x '.join(map(str, axes))} and {most} work-items in all"
        )


@contextmanager
def _device() -> Iterator[tuple[ModuleType, Any, Any]]:
    """The Vulkan package, a device that only compiles, and the physical one behind it."""
    drivers = sorted(DRIVERS.glob("radeon_icd*.json"))
    try:
        # Imported here because it is optional, and fails without Vulkan's loader.
        import vulkan
    except (ImportError, OSError):
        drivers = []
    if not drivers:
        raise ToolError(
            "radv needs Mesa's Vulkan drivers and the Python package vulkan; on Debian: "
            "apt install mesa-vulkan-drivers libvulkan1, then: pip install 'tflgpu[radv]'"
        )
    wanted = {"RADV_FORCE_FAMILY": FAMILY, "VK_ICD_FILENAMES": str(drivers[0])}
    features = vulkan.VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR(
        pipelineExecutableInfo=vulkan.VK_TRUE
    )
    extended = {"pNext": features, "ppEnabledExtensionNames": [EXTENSION]}
    with variables(wanted), opened(vulkan, **extended) as (physical, device):
        yield vulkan, physical, device


def _compile(vulkan: ModuleType, device: Any, module: bytes, buffers: int) -> MachineCode:
    flags = (
        vulkan.VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR
        | vulkan.VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR
    )
    made = compute_pipeline(vulkan, device, module, buffers, flags)
    try:
        return _code(vulkan, device, made.pipeline)
    finally:
        vulkan.vkDestroyPipeline(device, made.pipeline, None)
        vulkan.vkDestroyShaderModule(device, made.shader, None)
        vulkan.vkDestroyPipelineLayout(device, made.layout, None)
        vulkan.vkDestroyDescriptorSetLayout(device, made.sets, None)


def _code(vulkan: ModuleType, device: Any, pipeline: Any) -> MachineCode:
    executable = vulkan.VkPipelineExecutableInfoKHR(pipeline=pipeline, executableIndex=0)
    query = vulkan.vkGetDeviceProcAddr(device, "vkGetPipelineExecutableStatisticsKHR")
    counts = {item.name: int(item.value.u64) for item in query(device, executable)}
    text = _assembly(vulkan, device, executable)
    return MachineCode(
        registers=counts["VGPRs"],
        spills=counts["Spilled VGPRs"] + counts["Scratch size"],
        lanes=LANES,
        waves=counts["Subgroups per SIMD"],
        instructions=counts["Instructions"],
        branches=counts["Branches"],
        loads=count(r"(?:buffer|global|flat)_load", text),
        uniform_loads=count(r"s_(?:buffer_)?load", text),
        multiply_adds=count(r"v_(?:pk_)?(?:fma|fmac|mac|mad)\w*_f", text),
        text=text,
    )


def _assembly(vulkan: ModuleType, device: Any, executable: Any) -> str:
    """The machine code as text. The package's own function gives no texts, only their names."""
    ffi, name = vulkan.ffi, "vkGetPipelineExecutableInternalRepresentationsKHR"
    address = vulkan.lib.vkGetDeviceProcAddr(device, name.encode())
    query = ffi.cast(f"PFN_{name}", address)
    count, asked = ffi.new("uint32_t*"), ffi.addressof(executable)
    query(device, asked, count, ffi.NULL)
    found = ffi.new("VkPipelineExecutableInternalRepresentationKHR[]", count[0])
    query(device, asked, count, found)
    texts = [ffi.new("char[]", int(item.dataSize)) for item in found]
    for item, text in zip(found, texts, strict=True):
        item.pData = text
    query(device, asked, count, found)
    by_name: dict[str, str] = {
        ffi.string(item.name).decode(): ffi.string(text).decode()
        for item, text in zip(found, texts, strict=True)
    }
    return by_name[ASSEMBLY]


@contextmanager
def variables(wanted: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for a while; then they are what they were before."""
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
