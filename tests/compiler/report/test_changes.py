"""Two variants of a model compared without times."""

from pathlib import Path

from paths import DIGITS_MODEL

import tflgpu
from tflgpu.compiler.report.changes import changes, figures
from tflgpu.runtime.cache.variant import Variant, read_variant


def compiled(cache: Path, *disabled: str) -> Variant:
    return read_variant(
        tflgpu.compile(DIGITS_MODEL, cache, device="gpu", disable_passes=disabled, fallback="none")
    )


def test_what_fusing_changes(tmp_path: Path) -> None:
    now, before = compiled(tmp_path), compiled(tmp_path, "fuse_elementwise")
    found = {change.operators: change for change in changes(now, before)}
    states = [change.state for change in found.values()]
    assert "changed" in states and "same" in states
    every = {index for operators in found for index in operators}
    assert every == set(range(10)) - {7}  # a RESHAPE, which no kernel computes
    fused = next(change for change in found.values() if change.count_before > change.count_now)
    assert fused.state == "changed" and fused.bytes_now < fused.bytes_before
    listed = sorted(index for change in found.values() for index in change.dispatches)
    assert listed == list(range(len(now.plan.dispatches)))
    sums = figures(now.plan, before.plan)
    titles = {figure.title: (figure.before, figure.now) for figure in sums}
    assert titles["launches"] == (before.plan.launches, now.plan.launches)
    assert titles["bytes moved"][0] > titles["bytes moved"][1]


def test_a_variant_and_itself(tmp_path: Path) -> None:
    """Kernels are the same although their numbers, and so their names, may differ."""
    variant = compiled(tmp_path)
    assert {change.state for change in changes(variant, variant)} == {"same"}
