"""Instructions that kernels use by name are those that are tried on a device first."""

import re

import pytest

from tflgpu.compiler.codegen.functions.definitions import defined, definitions
from tflgpu.compiler.language.language import OPENCL
from tflgpu.runtime.opencl.instructions import EXAMPLES

# The intrinsic that uses each instruction.
USERS = {
    "avx512_vnni": "add_products",
    "avx512bw": "add_products",
    "avx512vbmi": "look_up_bytes",
    "avx_vnni": "add_products",
    "avx2": "add_products",
    "i8mm": "add_products",
    "asimddp": "add_products",
}


@pytest.mark.parametrize("instruction", USERS)
def test_what_is_tried_is_what_kernels_use(instruction: str) -> None:
    """The declaration and the instruction."""
    tried = EXAMPLES[instruction]
    (intrinsic,) = defined([USERS[instruction]], OPENCL)
    assert tried.lanes in intrinsic.assembler_lanes
    lines = definitions([USERS[instruction]], OPENCL, tried.lanes, "k")
    kernel = " ".join(line.strip() for line in lines)
    assert re.search(rf"(if|ifdef|elif) (defined\()?{instruction.upper()}\b", kernel)
    (text,) = re.findall(r'__asm__\("(.*?)"', tried.source)
    assert f'__asm__("{text}" : "' in kernel
    for declared in re.findall(r"#ifndef __x86_64__\n(.*?;)\n#endif", tried.source, re.DOTALL):
        assert re.sub(r"\s+", " ", declared) in kernel


def test_every_instruction_has_a_user() -> None:
    assert USERS.keys() == {name for name, each in EXAMPLES.items() if each.lanes}
