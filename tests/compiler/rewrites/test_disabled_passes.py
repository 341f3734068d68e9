"""Passes that users disable: results stay the same, and required ones are refused."""

from functools import cache
from pathlib import Path

import pytest
from agreement import difference, run
from cases import Case, families
from graphs import model

from tflgpu.compiler import OptionError, Options, pipeline
from tflgpu.compiler.rewrites import PIPELINE

PASSES = ("fold_pad_into_conv", "fold_pad_into_add", "fold_scale_into_conv", "fuse_elementwise")


@cache
def applied(case: Case) -> frozenset[str]:
    """The passes that change a case."""
    content = model({case.name: case.value}).content
    options = Options(device="cpu")
    selected = pipeline.select(content, options, pipeline.target_of(options))
    return frozenset(event.rewrite for event in selected.events if event.reason is None)


@pytest.mark.parametrize("name", PASSES)
def test_results_are_the_same_without_a_pass(name: str, opencl_device: str, tmp_path: Path) -> None:
    cases = [case for case in families()["fused"] if name in applied(case)][:12]
    together = model({case.name: case.value for case in cases})
    results = []
    for disabled in ((), (name,)):
        compiled = pipeline.build(together.content, Options(device="cpu", disable_passes=disabled))
        events = [event for event in compiled.events if event.rewrite == name and not event.reason]
        assert bool(events) == (not disabled)
        results.append(run(compiled, opencl_device, tmp_path, together.inputs))
    for output, value in results[0].items():
        assert difference(results[1][output], value) is None, output


@pytest.mark.parametrize("name", [each.name for each in PIPELINE if each.required])
def test_a_required_pass_cannot_be_disabled(name: str) -> None:
    content = model({"y": families()["fused"][0].value}).content
    with pytest.raises(OptionError, match=f"^the pass {name} cannot be left out"):
        pipeline.build(content, Options(device="cpu", disable_passes=(name,)))
