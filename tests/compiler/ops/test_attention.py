"""Attention of a work-group: its loops stay loops, of which compilers then load little at once."""

from pathlib import Path

import numpy as np
import pytest
from agreement import run
from cases.attention import attention
from devices import Attached, need_programs
from graphs import model, parsed, w, x

from tflgpu.compiler import Options, build
from tflgpu.compiler.litert.reference import Reference
from tflgpu.compiler.options import TargetName


@pytest.mark.parametrize("keys", [64, 197])
def test_loops_over_keys_and_channels_are_not_unrolled(keys: int) -> None:
    need_programs("glslangValidator")
    made = model({"y": attention(x(1, 2, keys, 64), x(1, 2, keys, 64), x(1, 2, keys, 64))})
    options = Options(target="vulkan", device="adreno", fallback="none")
    sources = build(made.content, options).sources
    (source,) = (text for file, text in sources.items() if "attention_group" in file)
    lines = source.splitlines()
    loops = [number for number, line in enumerate(lines) if "i < 32; i++" in line and "{" in line]
    assert loops and all("[[dont_unroll]]" in lines[number - 1] for number in loops)


@pytest.mark.parametrize("device", ["cpu", "nvidia"])
def test_intel_s_driver_joins_work_items_that_share_memory(device: str) -> None:
    """Those it left apart read scores in local memory before others had stored them."""
    made = model({"y": attention(x(1, 2, 64, 64), x(1, 2, 64, 64), x(1, 2, 64, 64))})
    sources = build(made.content, Options(device=device, fallback="none")).sources
    apart = [file for file, text in sources.items() if "intel_vec_len_hint(1)" in text]
    assert apart == (list(sources) if device == "cpu" else [])


DECODER = """
    input cache float32[1,2,512,64]
    input row float32[1,2,1,64]
    constant place int32[4] = 0,0,7,0
    keys = DYNAMIC_UPDATE_SLICE(cache, row, place)
    scores = BATCH_MATMUL(row, keys) adj_y=True
    weights = SOFTMAX(scores) beta=1.0
    y = BATCH_MATMUL(weights, keys)
    output y, keys
"""


@pytest.mark.parametrize("target", ["opencl", "wgsl"])
def test_a_gpu_reads_a_cache_where_it_lies(target: TargetName) -> None:
    """Each work-item of a group multiplies the query by a key, as many as the device allows."""
    options = Options(target=target, device="webgpu", fallback="none", keep=(("keys", "cache"),))
    plan = build(parsed(DECODER).content, options).plan
    update, attention = (plan.kernels[dispatch.kernel] for dispatch in plan.dispatches)
    assert "update_in_place" in update.file and "attention_group" in attention.file
    assert attention.group == (256, 1, 1)


@pytest.mark.parametrize("constants", ["q", "k", "kv"])
def test_constant_operands_in_half_precision(
    attached: Attached, tmp_path: Path, constants: str
) -> None:
    """As queries that a network has learned, they are rows of halves in memory."""
    shapes = {"q": (1, 2, 12, 32), "k": (1, 2, 40, 32), "v": (1, 2, 40, 32)}
    given = (w(*shape) if name in constants else x(*shape) for name, shape in shapes.items())
    made = model({"y": attention(*given)})
    options = Options(target=attached.target, device="gpu", precision="f32_f16", fallback="none")
    result = run(build(made.content, options), attached.device, tmp_path, made.inputs)["y"]
    (expected,) = Reference(made.content).run(made.inputs)
    np.testing.assert_allclose(result, expected, rtol=0, atol=2e-3 * np.abs(expected).max())
