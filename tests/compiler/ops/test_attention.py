"""Attention of a work-group: its loops stay loops, of which compilers then load little at once."""

import pytest
from cases.attention import attention
from devices import need_programs
from graphs import model, x

from tflgpu.compiler import Options, build


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
