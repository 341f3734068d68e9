"""Real networks against LiteRT, on every device."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from agreement import difference
from devices import Attached

import tflgpu
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


UNIFORM = ("enhance/lite-model_zero-dce_1",)
"""Networks that take brightness from 0 to 1 and make NaN of anything below."""


BENCHMARKS = {
    "mobilenet_v1_1.0_224": (-1.0, 1.0),
    "mobilenet_v2_1.0_224": (-1.0, 1.0),
    "efficientnet_b0_224": (0.0, 255.0),
}
"""Networks with drawn weights, and the range of the pixels they take."""


ILL_CONDITIONED = {
    ("mediapipe_pose/pose_landmark_lite", "glsl"): 4e-4,
    ("efficientnet_b0_224", "glsl"): 1e-3,
}
"""Networks whose sums nearly cancel, and the tolerance for languages that round every product.

OpenCL C multiplies and adds in one rounding, as LiteRT does; GLSL ES 3.1 has no such instruction.
LiteRT itself is as far from the mask of the first in float64. In the second it is inner tensors of
drawn weights that are off, not the outputs: one kernel computes squeeze and excite as a whole, and
the last one there blows up what its first layer rounds.
"""


def opened(model: Path, cache: Path, on: Attached, keep: bool = False) -> Session:
    folder = tflgpu.compile(
        model,
        cache,
        target=on.target,
        device=on.device,
        fallback="none",
        keep_intermediates=keep,
    )
    return tflgpu.load(folder, device=on.device)


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


@pytest.mark.parametrize("name", NETWORKS)
def test_outputs_agree_with_litert(
    name: str, models: Path, attached: Attached, tmp_path: Path
) -> None:
    path = models / "networks" / f"{name}.tflite"
    with opened(path, tmp_path, attached) as session:
        arrays = drawn(session.inputs, low=0 if name in UNIFORM else None)
        session.poison()
        results = session.run(arrays)
    expected = Reference(path, threads=2, delegates=True).run(arrays)
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
    """The network cut at its tensors of those names: each is an output, and an input for the rest.

    So LiteRT computes every tensor from the values the device computed before it, and what is
    compared is one kernel at a time. Compared from end to end, EfficientNet with drawn weights
    blows up a difference in the last bit until LiteRT with one thread and with two differ by 1e-2.
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
    name: str, benchmarks: Path, attached: Attached, tmp_path: Path
) -> None:
    path = benchmarks / f"{name}.tflite"
    with opened(path, tmp_path, attached, keep=True) as session:
        arrays = drawn(session.inputs, *BENCHMARKS[name])
        session.poison()
        results = session.run(arrays)
        graph = cut_at(path, {tensor.name for tensor in session.plan.tensors})
        values = {tensor: session.read(tensor) for tensor in graph.output_names}
    given = [*arrays, *values.values()]
    expected = Reference(write(graph), threads=2, delegates=True).run(given)
    for (tensor, actual), value in zip(values.items(), expected, strict=True):
        tolerance = ILL_CONDITIONED.get((name, attached.target))
        assert difference(actual, value, tolerance=tolerance) is None, tensor
    assert len(values) > 15 and results.keys() <= values.keys()
    whole = Reference(path, threads=2, delegates=True).run(arrays)
    for (output, actual), value in zip(results.items(), whole, strict=True):
        assert difference(actual, value) is None, output
