"""Instructions that kernels use by name are those that are tried on a device first."""

from __future__ import annotations

import re

from tflgpu.compiler.codegen.intrinsics import intrinsics
from tflgpu.runtime.opencl.instructions import EXAMPLES


def test_what_is_tried_is_what_kernels_use() -> None:
    """The declarations, and the instruction with its operands."""
    kernel = intrinsics()["add_products"].definitions["opencl"]
    tried = EXAMPLES["avx512_vnni"].source
    assert "#ifdef AVX512_VNNI" in kernel
    declared = [line for line in tried.splitlines() if line.startswith(("typedef", "int16 vpd"))]
    assert len(declared) == 2
    assert set(declared) <= set(kernel.splitlines())
    for pattern in (r'__asm__\("(.*?)" : "(.*?)"', r"return (\w+)\(|= (\w+)\(x\[0\]"):
        (used,), (seen,) = (re.findall(pattern, text) for text in (kernel, tried))
        assert set(filter(None, used)) == set(filter(None, seen)), pattern
