"""Networks compute the same whichever rewrite is disabled."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement import difference, run
from devices import opencl_devices, unavailable
from numpy.typing import NDArray
from paths import DIGITS_MODEL

from tflgpu.compiler import OptionError, Options, pipeline
from tflgpu.compiler.litert.reference import Reference
from tflgpu.compiler.rewrites import PIPELINE

OPTIONAL = [each.name for each in PIPELINE if not each.required]
NETWORKS = ["tiny_mlperf/trainedRes", "misc/fizzbuzz_model"]


@cache
def expected(path: Path) -> tuple[dict[str, NDArray[Any]], tuple[NDArray[Any], ...]]:
    """Random inputs of a network, and LiteRT's outputs for them."""
    random = np.random.default_rng(17)
    infos = pipeline.build(path, Options(device="cpu_avx512")).plan.inputs
    inputs = {i.name: random.standard_normal(i.shape).astype(i.dtype) for i in infos}
    return inputs, Reference(path).run(inputs)


@pytest.mark.parametrize("name", NETWORKS, ids=lambda name: name.split("/")[-1])
@pytest.mark.parametrize("off", OPTIONAL)
def test_networks_agree_without_a_rewrite(
    off: str, name: str, models: Path, tmp_path: Path
) -> None:
    if not opencl_devices():
        unavailable("no OpenCL device is present")
    path = models / "networks" / f"{name}.tflite"
    inputs, wanted = expected(path)
    options = Options(device="cpu_avx512", fallback="none", disable_passes=(off,))
    results = run(pipeline.build(path, options), opencl_devices()[0], tmp_path, inputs).values()
    assert [difference(*pair) for pair in zip(results, wanted, strict=True)] == [None] * len(wanted)


@pytest.mark.parametrize("needed", [each.name for each in PIPELINE if each.required])
def test_required_rewrites_cannot_be_disabled(needed: str) -> None:
    with pytest.raises(
        OptionError, match=f"the pass {needed} cannot be left out: later stages rely on it"
    ):
        pipeline.build(DIGITS_MODEL, Options(device="cpu", disable_passes=(needed,)))
