"""Sessions of real networks."""

from collections.abc import Callable
from pathlib import Path

import pytest
from devices import ATTACHED, Attached, reached

import tflgpu
from tflgpu.runtime import Session

Opener = Callable[..., Session]  # Called with the path of a model, and `keep_intermediates`.

OPENGL = {
    *("mobilenet_v1/mobilenet_v1_0.25_224_1_default_1", "bodypix/body-pix-float-050-8"),
    "mediapipe_face/face_detection_front",
}
# Unless all are asked for, these networks run there and on the first device, the others on all
# devices of OpenCL, and tests of what is in images on the first device alone.
WEBGPU = {
    *("mediapipe_face/face_detection_short_range", "tiny_mlperf/trainedRes"),
    *("tiny_mlperf/vww_96_float", "tiny_mlperf/model_ToyCar"),
}


@pytest.fixture(params=ATTACHED, ids=str)
def attached(request: pytest.FixtureRequest) -> Attached:
    """The devices of a network."""
    name = request.node.callspec.params.get("name")
    if request.config.getoption("--cases") == "some" and request.param not in devices_of(name):
        pytest.skip("runs with --cases all")
    return reached(request)


def devices_of(name: str | None) -> list[Attached]:
    """The devices that a network runs on if not all cases are asked for."""
    if name is None:
        return [ATTACHED[0]]
    second = "wgsl" if name in WEBGPU else "glsl" if name in OPENGL else "opencl"
    return [each for each in ATTACHED if each.target == second or each == ATTACHED[0]]


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
