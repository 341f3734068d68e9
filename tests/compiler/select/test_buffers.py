"""No kernel binds more buffers than its profile says that the device allows, whatever it computes.

Kernels are bound here, not rendered, so that so many cases of all operators can be looked at, each
with each of its implementations.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from agreement import any_order, assert_cases
from cases import Case, families
from compiled_cases import by_rank
from devices import Way
from graphs import model

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.codegen.binding import Binding
from tflgpu.compiler.ir import Op, Tensor
from tflgpu.compiler.memory.allocation import Placement
from tflgpu.compiler.ops.buffers import buffers, most_buffers
from tflgpu.compiler.options import TargetName
from tflgpu.compiler.select.legality import finding
from tflgpu.compiler.sizing.sizes import size_operators

pytestmark = pytest.mark.slow

# The profiles of the fewest buffers, and how far the cases of an operator that are looked at are
# apart; kernels of other profiles are like those of the second.
TARGETS = (("glsl", "gles31", 1), ("wgsl", "webgpu", 4))


def kernels(
    cases: tuple[Case, ...], target: TargetName, profile: str
) -> Iterator[tuple[str, int, int, int]]:
    """Each kernel: its implementation, what it binds, what is reckoned of it, and at most."""
    options = Options(target=target, device=profile, fallback="none")
    aimed = pipeline.target_of(options)
    for rank in count():
        choices: dict[str, int] = {}
        content = model({case.name: case.value for case in cases}).content
        with any_order(), pytest.MonkeyPatch.context() as patch:
            patch.setattr(pipeline, "choose_storage", by_rank(rank, choices))
            selected = pipeline.select(content, options, aimed)
        for sized in size_operators(selected).operators:
            op, implementation = sized.op, sized.implementation
            for launch in sized.launches:
                binding = Binding(launch, implementation, aimed, Placement({}, {}))
                binding.bind(op)
                reckoned = buffers(op, launch, implementation)
                yield implementation.name, len(binding.arguments), reckoned, most_buffers(op)
        cases = tuple(case for case in cases if choices.get(case.name, 1) > rank + 1)
        if not cases:
            return


@pytest.mark.parametrize(("target", "profile", "step"), TARGETS)
def test_no_kernel_binds_more_than_the_profile_allows(
    target: TargetName, profile: str, step: int
) -> None:
    allowed = pipeline.target_of(Options(target=target, device=profile)).device.max_arguments
    wide: Counter[tuple[str, str, int]] = Counter()
    for family, cases in families().items():
        for name, bound, reckoned, most in kernels(tuple(cases[::step]), target, profile):
            assert bound == reckoned <= most, f"{family}: {name}"
            wide[family, name, bound] += bound > allowed
    assert not +wide


@pytest.mark.parametrize("way", [Way("glsl", "gles31", "auto")], ids=str, indirect=True)
def test_operators_of_more_tensors_than_buffers(way: Way, tmp_path: Path) -> None:
    """Their operands, or their results, share tensors."""
    names = ("gated_delta_update", "NON_MAX_SUPPRESSION_V5")
    assert_cases([each for name in names for each in families()[name]], way, tmp_path)


def test_what_takes_more_in_any_way_is_refused() -> None:
    """The error says how many buffers it takes, and what to do."""
    values = [Tensor(name, (2, 3)) for name in "abcy"]
    op = Op("SELECT_V2", [replace(values[0], dtype="bool"), *values[1:3]], values[3:])
    four = pipeline.target_of(Options(target="glsl", device="gles31"))
    three = replace(four, device=replace(four.device, max_arguments=3))
    assert finding(op, four, lowered=True) is None
    found = finding(op, three, lowered=True)
    assert found is not None
    assert "the kernel would need 4 buffers, but the device allows 3" in found.reason
    assert found.advice == "if the device has more, choose a profile with a larger max_arguments"
