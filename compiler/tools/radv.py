"""RADV, Mesa's compiler for AMD's GPUs: what it makes of Vulkan kernels, without a GPU.

With RADV_FORCE_FAMILY the driver offers a device that compiles and never runs, whose statistics
VK_KHR_pipeline_executable_properties gives. They are static: a loop counts once, and so does each
side of a branch.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ..codegen.spirv import ToolError

FAMILY = "NAVI21"
"""The GPU that RADV compiles for: RDNA 2, as in the Radeon RX 6800."""
DRIVERS = Path("/usr/share/vulkan/icd.d")
EXTENSION = "VK_KHR_pipeline_executable_properties"
ASSEMBLY = "Assembly"
"""RADV's name for the machine code."""

LOADS = re.compile(r"^\s*(?:buffer|global|flat)_load", re.MULTILINE)
UNIFORM_LOADS = re.compile(r"^\s*s_(?:buffer_)?load", re.MULTILINE)
MULTIPLY_ADDS = re.compile(r"^\s*v_(?:pk_)?(?:fma|fmac|mac|mad)\w*_f", re.MULTILINE)


@dataclass(frozen=True)
class MachineCode:
    """A kernel as RADV compiles it."""

    registers: int
    """Vector registers of a work-item."""
    spills: int
    """Registers that do not fit, plus bytes of memory used in their place."""
    waves: int
    """Waves that fit on a SIMD at once; more hide more latency."""
    instructions: int
    branches: int
    loads: int
    """Loads by each lane."""
    uniform_loads: int
    """Loads by a wave as a whole."""
    multiply_adds: int
    text: str
    """The machine code in AMD's assembly language."""


def compile_modules(modules: Mapping[str, tuple[bytes, int]]) -> dict[str, MachineCode]:
    """What RADV makes of SPIR-V modules, each given with its number of buffers.

    ToolError if the driver or the package for it is missing.
    """
    with _device() as (vulkan, device):
        return {
            name: _compile(vulkan, device, module, buffers)
            for name, (module, buffers) in modules.items()
        }


@contextmanager
def _device() -> Iterator[tuple[ModuleType, Any]]:
    """The Vulkan package and a device that only compiles."""
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
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        instance = vulkan.vkCreateInstance(vulkan.VkInstanceCreateInfo(), None)
        try:
            physical = vulkan.vkEnumeratePhysicalDevices(instance)[0]
            queue = vulkan.VkDeviceQueueCreateInfo(
                queueFamilyIndex=0, queueCount=1, pQueuePriorities=[1.0]
            )
            features = vulkan.VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR(
                pipelineExecutableInfo=vulkan.VK_TRUE
            )
            described = vulkan.VkDeviceCreateInfo(
                pNext=features, pQueueCreateInfos=[queue], ppEnabledExtensionNames=[EXTENSION]
            )
            device = vulkan.vkCreateDevice(physical, described, None)
            try:
                yield vulkan, device
            finally:
                vulkan.vkDestroyDevice(device, None)
        finally:
            vulkan.vkDestroyInstance(instance, None)
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _compile(vulkan: ModuleType, device: Any, module: bytes, buffers: int) -> MachineCode:
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
    pipeline_info = vulkan.VkComputePipelineCreateInfo(
        flags=vulkan.VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR
        | vulkan.VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR,
        stage=stage,
        layout=layout,
    )
    (pipeline,) = vulkan.vkCreateComputePipelines(device, None, 1, [pipeline_info], None)
    try:
        return _code(vulkan, device, pipeline)
    finally:
        vulkan.vkDestroyPipeline(device, pipeline, None)
        vulkan.vkDestroyShaderModule(device, shader, None)
        vulkan.vkDestroyPipelineLayout(device, layout, None)
        vulkan.vkDestroyDescriptorSetLayout(device, sets, None)


def _code(vulkan: ModuleType, device: Any, pipeline: Any) -> MachineCode:
    executable = vulkan.VkPipelineExecutableInfoKHR(pipeline=pipeline, executableIndex=0)
    query = vulkan.vkGetDeviceProcAddr(device, "vkGetPipelineExecutableStatisticsKHR")
    counts = {item.name: int(item.value.u64) for item in query(device, executable)}
    text = _assembly(vulkan, device, executable)
    return MachineCode(
        registers=counts["VGPRs"],
        spills=counts["Spilled VGPRs"] + counts["Scratch size"],
        waves=counts["Subgroups per SIMD"],
        instructions=counts["Instructions"],
        branches=counts["Branches"],
        loads=len(LOADS.findall(text)),
        uniform_loads=len(UNIFORM_LOADS.findall(text)),
        multiply_adds=len(MULTIPLY_ADDS.findall(text)),
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
