"""Vectors times matrices on GPUs, whose work-items share the sums, in every form and language."""

from pathlib import Path

import pytest
from agreement import differences, run
from cases import CASES
from compiled_cases import compile_cases
from devices import Attached

# Outputs that fill no slice, or no work-group; weights in blocks with scales of their own.
VECTORS = tuple(
    case
    for case in CASES
    if case.name.removeprefix("quantized blocks of weights ")
    in (
        "FULLY_CONNECTED one long row",
        "FULLY_CONNECTED one row of whole slices",
        "FULLY_CONNECTED of 1 rows in blocks of 32",
        "FULLY_CONNECTED of 1 rows in blocks of 64",
    )
)


@pytest.mark.parametrize("rank", [0, 1], ids=["from slices", "from rows"])
def test_they_agree_with_litert(rank: int, attached: Attached, tmp_path: Path) -> None:
    found = compile_cases(VECTORS, attached.target, "gpu", rank)
    kernels = [found.model.plan.kernels[each.kernel].name for each in found.model.plan.dispatches]
    assert sum(kernel.startswith("split_sums") for kernel in kernels) == len(VECTORS), kernels
    results = run(found.model, attached.device or "auto", tmp_path, found.inputs)
    assert not differences(found.cases, results)
