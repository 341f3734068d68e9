"""Instructions that kernels use by name are those that are tried on a device first."""

import re

import pytest

from tflgpu.compiler.codegen.intrinsics import definitions, intrinsics
from tflgpu.compiler.language.language import OPENCL
from tflgpu.runtime.opencl.instructions import EXAMPLES

# The intrinsic that uses each instruction.
USERS = {"avx512_vnni": "add_products", "avx512vbmi": "look_up_bytes"}


@pytest.mark.parametrize("instruction", USERS)
def test_what_is_tried_is_what_kernels_use(instruction: str) -> None:
    """What the compiler is told, the declarations, and the functions for the instruction."""
    found = intrinsics()[USERS[instruction]]
    kernel = "\n".join(definitions([found.name], OPENCL, 16, "kernel"))
    tried = EXAMPLES[instruction].source
    assert found.instruction is not None
    assert found.instruction.macro == instruction.upper()
    for pattern in (
        r"#pragma clang attribute push.*",
        r"typedef .*;",
        r"\w+ \w+\([^(){};]*\)\s*__asm\(.*\);",
        r"__builtin_ia32_\w+",
    ):
        used, seen = (set(re.findall(pattern, text)) for text in (kernel, tried))
        assert used == seen, pattern
        assert used, pattern


def test_every_instruction_has_a_user() -> None:
    assert USERS.keys() == {name for name, each in EXAMPLES.items() if each.lanes}
