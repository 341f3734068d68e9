"""Real networks against LiteRT, each on several devices, and all on all of them if asked for."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from agreement import difference
from devices import Attached

from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Array, Graph, Tensor
from tflgpu.compiler.litert.reference import Reference
from tflgpu.runtime import Session, TensorInfo

pytestmark = pytest.mark.slow

NETWORKS = (
    "mobilenet_v1/mobilenet_v1_0.25_224_1_default_1",
    "deeplab_v3/deeplabv3",
    "bodypix/body-pix-float-050-8",
    "mediapipe_face/face_detection_front",
    "mediapipe_face/face_detection_short_range",
    "mediapipe_face/face_landmark__data",
    "mediapipe_hand/palm_detection",
    "mediapipe_hand/hand_recrop",
    "mediapipe_pose/pose_landmark_lite",
    "mediapipe_segm/selfie_segmenter",
    "pose_other/hourglass",
    "enhance/lite-model_zero-dce_1",
    "tiny_mlperf/trainedRes",
    "tiny_mlperf/vww_96_float",
    "tiny_mlperf/model_ToyCar",
)

# Networks whose kernels drivers of OpenCL optimize, which takes several times as long.
OPTIMIZED = (
    *("mobilenet_v1/mobilenet_v1_0.25_224_1_default_1", "mediapipe_hand/hand_recrop"),
    *("mediapipe_face/face_landmark__data", "tiny_mlperf/vww_96_float"),
)

# Networks that take brightness from 0 to 1, and for which anything below gives NaN.
UNIFORM = ("enhance/lite-model_zero-dce_1",)

# Networks with random weights, and the range of the pixels they take.
BENCHMARKS = {
    "mobilenet_v1_1.0_224": (-1.0, 1.0),
    "mobilenet_v2_1.0_224": (-1.0, 1.0),
    "efficientnet_b0_224": (0.0, 255.0),
}

# Networks whose sums nearly cancel, and the tolerance for languages that round every product.
# OpenCL C multiplies and adds with one rounding, as LiteRT does; GLSL ES 3.1 has no such
# instruction. For the mask of the first network, LiteRT itself differs as much from a float64
# computation. In the second, inner tensors differ but not the outputs: one kernel computes squeeze
# and excite as a whole, and its last layer amplifies the rounding of its first one.
ILL_CONDITIONED = {
    ("mediapipe_pose/pose_landmark_lite", "glsl"): 4e-4,
    ("efficientnet_b0_224", "glsl"): 1e-3,
}


def drawn(infos: Sequence[TensorInfo], low: float | None = None, high: float = 1) -> list[Array]:
    """Arrays for a model's inputs: normal, or uniform between two values."""
    random = np.random.default_rng(29)
    return [
        (
            random.standard_normal(info.shape)
            if low is None
            else random.uniform(low, high, info.shape)
        ).astype(np.float32)
        for info in infos
    ]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.optimized] if name in OPTIMIZED else [])
        for name in NETWORKS
    ],
)
def test_outputs_agree_with_litert(
    name: str, models: Path, opened: Callable[..., Session], attached: Attached
) -> None:
    path = models / "networks" / f"{name}.tflite"
    with opened(path) as session:
        arrays = drawn(session.inputs, low=0 if name in UNIFORM else None)
        session.poison()
        results = session.run(arrays)
    expected = Reference(path, threads=2, kernels="XNNPACK").run(arrays)
    tolerance = ILL_CONDITIONED.get((name, attached.target))
    for (output, actual), value in zip(results.items(), expected, strict=True):
        assert difference(actual, value, tolerance=tolerance) is None, output


@pytest.fixture(scope="session")
def benchmarks(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the benchmark networks."""
    folder = tmp_path_factory.mktemp("benchmarks")
    command = [sys.executable, str(models / "bench" / "make.py"), str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def cut_at(path: Path, names: set[str]) -> Graph:
    """The network cut at the tensors with these names: each is an output, and an input of the rest.

    LiteRT then computes every tensor from the values that the device computed before it, so that
    one kernel is compared at a time. From end to end, EfficientNet with random weights amplifies a
    difference in the last bit so much that LiteRT with one and with two threads differs by 1e-2.
    """
    graph = read(path)
    cuts = [t for op in graph.ops for t in op.outputs if t.name in names]
    for tensor in cuts:
        given = Tensor(f"{tensor.name}/given", tensor.shape, tensor.dtype)
        graph.replace(tensor, given)
        graph.inputs.append(given)
        graph.input_names.append(given.name)
    graph.outputs = cuts
    graph.output_names = [tensor.name for tensor in cuts]
    graph.signatures = []
    return graph


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_inner_tensor_agrees_with_litert(
    name: str, benchmarks: Path, opened: Callable[..., Session], attached: Attached
) -> None:
    path = benchmarks / f"{name}.tflite"
    with opened(path, keep_intermediates=True) as session:
        arrays = drawn(session.inputs, *BENCHMARKS[name])
        session.poison()
        results = session.run(arrays)
        graph = cut_at(path, {tensor.name for tensor in session.plan.tensors})
        values = {tensor: session.read(tensor) for tensor in graph.output_names}
    given = [*arrays, *values.values()]
    expected = Reference(write(graph), threads=2, kernels="XNNPACK").run(given)
    for (tensor, actual), value in zip(values.items(), expected, strict=True):
        tolerance = ILL_CONDITIONED.get((name, attached.target))
        assert difference(actual, value, tolerance=tolerance) is None, tensor
    assert len(values) > 15 and results.keys() <= values.keys()
    whole = Reference(path, threads=2, kernels="XNNPACK").run(arrays)
    for (output, actual), value in zip(results.items(), whole, strict=True):
        assert difference(actual, value) is None, output
