"""Sub-groups: the work-items of a work-group that run in lockstep."""

from .intrinsic import Form, Intrinsic, intrinsic


def _reduction(signature: str, meaning: str, opencl: Form, vulkan: Form) -> Intrinsic:
    devices = {"opencl": "cl_intel_subgroups", "vulkan": "VK_SUBGROUP_FEATURE_ARITHMETIC_BIT"}
    return intrinsic(
        signature,
        meaning,
        opencl=opencl,
        vulkan=vulkan,
        extension="GL_KHR_shader_subgroup_arithmetic",
        device_extensions=devices,
    )


def _place(signature: str, meaning: str, opencl: Form, vulkan: Form) -> Intrinsic:
    extension = "GL_KHR_shader_subgroup_basic"
    return intrinsic(signature, meaning, opencl=opencl, vulkan=vulkan, extension=extension)


# fmt: off
SUB_GROUPS = (
    _reduction("sub_group_sum v -> v",
        "the sum of v over the work-items of the sub-group, for all of them",
        "sub_group_reduce_add(v)", "subgroupAdd(v)"),
    _reduction("sub_group_sums v:floats -> floats", "the same for a slice",
        "({{ floatS }})({{ for_lanes('sub_group_reduce_add((v).%s)') }})",
        "subgroupAdd(v)"),
    _reduction("sub_group_max v -> v",
        "the largest v of the work-items of the sub-group, for all of them",
        "sub_group_reduce_max(v)", "subgroupMax(v)"),
    _place("sub_groups -> int", "the number of sub-groups of the work-group",
        "((int)get_num_sub_groups())", "int(gl_NumSubgroups)"),
    _place("sub_group_number -> int", "the index of the work-item's sub-group",
        "((int)get_sub_group_id())", "int(gl_SubgroupID)"),
    _place("sub_group_lane -> int", "the index of the work-item in its sub-group",
        "((int)get_sub_group_local_id())", "int(gl_SubgroupInvocationID)"),
)
# fmt: on
