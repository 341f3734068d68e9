"""Sessions of real networks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from devices import ATTACHED, Attached, reached

import tflgpu
from tflgpu.runtime import Session

Opener = Callable[..., Session]
"""Called with the path of a model, and `keep_intermediates`."""


WEBGPU = {
    *("mediapipe_face/face_detection_short_range", "tiny_mlperf/trainedRes"),
    *("tiny_mlperf/vww_96_float", "tiny_mlperf/model_ToyCar"),
}
"""The networks that run on WebGPU, where drivers compile slowly, unless all are asked for."""


@pytest.fixture(params=ATTACHED, ids=str)
def attached(request: pytest.FixtureRequest) -> Attached:
    """Every device, WebGPU's for few networks only."""
    name = request.node.callspec.params.get("name")
    few = request.config.getoption("--cases") == "some"
    if request.param.target == "wgsl" and few and name not in WEBGPU:
        pytest.skip("runs with --cases all")
    return reached(request)


@pytest.fixture
def opened(attached: Attached, tmp_path: Path) -> Opener:
    """Compiles a model without fallback, and loads it on the attached device."""

    def open_model(model: Path, keep_intermediates: bool = False) -> Session:
        folder = tflgpu.compile(
            model,
            tmp_path,
            target=attached.target,
            device=attached.device,
            fallback="none",
            keep_intermediates=keep_intermediates,
        )
        return tflgpu.load(folder, device=attached.device)

    return open_model
