"""Instructions that kernels use by name are those that are tried on a device first."""

import re

import pytest

from tflgpu.compiler.codegen.intrinsics import intrinsics
from tflgpu.runtime.opencl.instructions import EXAMPLES

# The intrinsic that uses each instruction.
USERS = {"avx512_vnni": "add_products", "avx512vbmi": "look_up_bytes"}


@pytest.mark.parametrize("instruction", USERS)
def test_what_is_tried_is_what_kernels_use(instruction: str) -> None:
    """The declarations, and the instruction with its operands."""
    kernel = intrinsics()[USERS[instruction]].definitions["opencl"]
    tried = EXAMPLES[instruction].source
    assert f"#ifdef {instruction.upper()}" in kernel
    (declared,) = re.findall(r"(typedef .*?);\n#endif", tried, re.DOTALL)
    assert declared in kernel
    name = declared.split("\n")[1].split("(")[0].split()[-1]
    for pattern in (r'__asm__\("(.*?)" : "(.*?)"', rf"({name})\(\w"):
        used, seen = (set(re.findall(pattern, text)) for text in (kernel, tried))
        assert used == seen, pattern


def test_every_instruction_has_a_user() -> None:
    assert USERS.keys() == {name for name, each in EXAMPLES.items() if each.lanes}
