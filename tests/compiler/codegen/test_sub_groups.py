"""Profiles with sub-groups: work-items of a group that exchange values by themselves."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from agreement import difference, run
from graphs import Model, call, ints, model, x

from tflgpu.compiler import CompiledModel, Options, pipeline
from tflgpu.compiler.emit.facts import SUB_GROUPS, stated
from tflgpu.compiler.litert.reference import Reference
from tflgpu.runtime import PlanError, load
from tflgpu.runtime.opencl.find import devices
from tflgpu.runtime.plan.seal import sealed

PLACE = "(int)get_local_id(0)"


MADE = {
    r"intel_sub_group_shuffle_xor\(v, apart\)": (
        f"(swapped[{PLACE}] = (v), barrier(CLK_LOCAL_MEM_FENCE), "
        f"taken = swapped[{PLACE} ^ (apart)], barrier(CLK_LOCAL_MEM_FENCE), taken)"
    ),
    r"\(\(int\)get_sub_group_id\(\)\)": f"({PLACE} / 16)",
    r"\(\(int\)get_sub_group_local_id\(\)\)": f"({PLACE} % 16)",
    r"__attribute__\(\(intel_reqd_sub_group_size\(16\)\)\)\n": "",
}
"""What stands in for each word of the extension."""


def shared_by_groups() -> Model:
    """Reductions and softmax that whole groups of one to sixteen sub-groups compute."""
    size = {"filter_height": 2, "filter_width": 2, "stride_h": 1, "stride_w": 1}
    pooled = call("MAX_POOL_2D", x(2, 37, 41, 19), padding="SAME", **size)
    small = call("MAX_POOL_2D", x(2, 7, 11, 7), padding="SAME", **size)
    values = {
        "mean": call("MEAN", pooled, ints(1, 2), keep_dims=True),
        "most": call("REDUCE_MAX", pooled, ints(1, 2), keep_dims=True),
        "few": call("MEAN", small, ints(1, 2), keep_dims=True),
        "softmax": call("SOFTMAX", x(3, 1001), beta=1.5),
        "sliced softmax": call("SOFTMAX", call("MAX_POOL_2D", x(1, 3, 5, 301), **size), beta=1.0),
    }
    return model(values)


def built(compiled: Model) -> CompiledModel:
    return pipeline.build(compiled.content, Options(device="intel_gpu", fallback="none"))


def rewritten(program: CompiledModel, change: Callable[[str], str]) -> CompiledModel:
    """The program with other sources."""
    sources = {file: change(text) for file, text in program.sources.items()}
    kernels = tuple(
        replace(kernel, sha256=hashlib.sha256(sources[kernel.file].encode()).digest(), sub_group=0)
        for kernel in program.plan.kernels
    )
    return replace(
        program, sources=sources, plan=sealed(stated(replace(program.plan, kernels=kernels)))
    )


def made_of_memory(source: str) -> str:
    if "from_neighbour" not in source:
        return source
    for pattern, text in MADE.items():
        source = re.sub(pattern, text, source)
    kind, team = re.findall(r"(float\w*) v = from_neighbour", source)[0], 256
    head = f"\\1  __local {kind} swapped[{team}];\n  {kind} taken;\n"
    return re.sub(r"(^void (?:.|\n)*?\) \{\n)", head, source, count=1, flags=re.MULTILINE)


def check(program: CompiledModel, compiled: Model, device: str, folder: Path) -> None:
    found = run(program, device, folder, compiled.inputs)
    expected = Reference(compiled.content).run(compiled.inputs)
    wrong = {
        name: difference(value, wanted)
        for (name, value), wanted in zip(found.items(), expected, strict=True)
    }
    assert set(wrong.values()) == {None}, wrong


def test_sub_groups_join_what_their_work_items_have(opencl_device: str, tmp_path: Path) -> None:
    compiled = shared_by_groups()
    program = built(compiled)
    using = [text for text in program.sources.values() if "from_neighbour" in text]
    assert len(using) >= 4
    assert all("__attribute__((intel_reqd_sub_group_size(16)))" in text for text in using)
    made = rewritten(program, made_of_memory)
    assert {kernel.sub_group for kernel in program.plan.kernels} == {0, 16}
    check(made, compiled, opencl_device, tmp_path / "made")
    for device in devices():
        if SUB_GROUPS in device.extensions:
            check(program, compiled, str(device), tmp_path / "own")


def test_a_device_without_them_says_so(tmp_path: Path) -> None:
    plan = pipeline.store(built(shared_by_groups()), tmp_path)
    for device in devices():
        if SUB_GROUPS not in device.extensions:
            with pytest.raises(PlanError, match=f"it needs {SUB_GROUPS}, which this device lacks"):
                load(plan, device=str(device))


def test_only_profiles_that_ask_for_sub_groups_have_them() -> None:
    for options in (
        Options(device="nvidia", fallback="none"),
        Options(device="intel_gpu", target="glsl", fallback="none"),
        Options(device="gpu", fallback="none"),
    ):
        sources = pipeline.build(shared_by_groups().content, options).sources.values()
        assert not any("neighbour" in text for text in sources)
        assert any("half_team" in text for text in sources)
