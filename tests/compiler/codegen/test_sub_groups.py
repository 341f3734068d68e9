"""Sub-groups: work-items of a group that add up what they have by themselves."""

from pathlib import Path

import lavapipe
import pytest
from agreement import assert_litert, run
from cases.layers import squeezed
from cases.norms import layers
from devices import need_programs
from graphs import Model, call, ints, model, typed, w, x, xi

from tflgpu.compiler import CompiledModel, Options, pipeline
from tflgpu.compiler.options import TargetName
from tflgpu.runtime import PlanError, load
from tflgpu.runtime.opencl.find import devices

EXTENSION = "cl_intel_subgroups"
WORD = "sub_group_lane"


def shared_by_groups() -> Model:
    """What whole groups compute, of one and of several sub-groups."""
    size = {"filter_height": 2, "filter_width": 2, "stride_h": 1, "stride_w": 1}
    pooled = call("MAX_POOL_2D", x(2, 37, 41, 19), padding="SAME", **size)
    small = call("MAX_POOL_2D", x(2, 7, 11, 7), padding="SAME", **size)
    values = {
        "mean": call("MEAN", pooled, ints(1, 2), keep_dims=True),
        "most": call("REDUCE_MAX", pooled, ints(1, 2), keep_dims=True),
        "few": call("SUM", small, ints(1, 2), keep_dims=True),
        "vector": call("MEAN", call("MAX_POOL_2D", x(1, 7, 7, 37), **size), ints(1, 2)),
        "rows": call("SUM", x(3, 200, 7), ints(1, 2)),
        "integers": typed("int32", "REDUCE_MAX", xi(3, 200, 7), ints(1, 2)),
        "scores": call("FULLY_CONNECTED", x(1, 500), w(37, 500), w(37)),
        "squeezed": squeezed(call("MAX_POOL_2D", x(1, 8, 8, 301), **size), 301),
        "normalized": layers(call("MAX_POOL_2D", x(1, 4, 6, 301), **size), (3,), w(301), w(301)),
        "softmax": call("SOFTMAX", x(3, 1001), beta=1.5),
        "sliced softmax": call("SOFTMAX", call("MAX_POOL_2D", x(1, 3, 5, 301), **size), beta=1.0),
    }
    return model(values)


def built(
    compiled: Model, device: str = "intel_gpu", target: TargetName = "opencl"
) -> CompiledModel:
    options = Options(device=device, target=target, fallback="none")
    return pipeline.build(compiled.content, options)


def test_sub_groups_add_up_what_their_work_items_have(tmp_path: Path) -> None:
    compiled = shared_by_groups()
    program = built(compiled)
    assert sum(WORD in text for text in program.sources.values()) == 7
    for device in devices():
        if EXTENSION in device.limits.extensions:
            assert_litert(run(program, str(device), tmp_path, compiled.inputs), compiled)


@pytest.mark.parametrize("profile", ["amd", "gpu"])
def test_kernels_for_vulkan_agree_with_litert(
    profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_programs("glslangValidator")
    compiled = shared_by_groups()
    program = built(compiled, profile, "vulkan")
    assert any(WORD in text for text in program.sources.values()) == (profile == "amd")
    with lavapipe.device(monkeypatch) as device:
        assert_litert(device.run(program, compiled.inputs), compiled)


def test_a_device_without_them_says_so(tmp_path: Path) -> None:
    plan = pipeline.write(built(shared_by_groups()), tmp_path)
    for device in devices():
        if EXTENSION not in device.limits.extensions:
            with pytest.raises(PlanError, match=f"it needs {EXTENSION}, which this device lacks"):
                load(plan, device=str(device))


def test_only_targets_whose_profile_lists_them_have_them() -> None:
    need_programs("glslangValidator")
    without: dict[str, TargetName] = {"nvidia": "opencl", "intel_gpu": "glsl", "gpu": "vulkan"}
    for device, target in without.items():
        sources = built(shared_by_groups(), device, target).sources.values()
        assert not any(WORD in text for text in sources)
        assert any("stride" in text for text in sources)
