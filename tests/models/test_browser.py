"""Networks exported for browsers compute in Chromium what LiteRT does."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import WEBGPU, chromium
from servers import http_server

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.export import export
from tflgpu.compiler.litert.reference import Reference
from tflgpu.runtime.cache.variant import read_variant

pytestmark = pytest.mark.slow

# Small ones of every kind: images and sequences, of floats and of bytes.
NETWORKS = (
    "audio/micro_speech_lstm",
    "classification_other/keras_lstm_mnist_ptq",
    "mediapipe_face/face_blendshapes",
    "mediapipe_hand/hand_recrop",
    "recommend_rl/recommendation_rnn_i10o100",
    "tiny_mlperf/vww_96_int8",
)
# Those that run with --cases all.
OTHERS = (
    "classification_other/trained_lstm",
    "mediapipe_face/face_detection_short_range",
    "mediapipe_face/face_landmark__data",
    "pose_other/hourglass",
)
RUN = """async (inputs) => {
  const arrays = {float32: Float32Array, int32: Int32Array, int8: Int8Array, uint8: Uint8Array};
  const {load} = await import("./network/network.js");
  const model = await load("./network");
  const results = await model.run(Object.fromEntries(model.inputs.map(
    ({name, element}, number) => [name, new arrays[element](inputs[number])])));
  model.destroy();
  return model.outputs.map(({name}) => Array.from(results[name]));
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium(*WEBGPU) as opened:
        yield opened


@pytest.mark.parametrize("network", (*NETWORKS, *OTHERS))
def test_a_network(
    network: str, models: Path, browser: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if network in OTHERS and request.config.getoption("--cases") == "some":
        pytest.skip("runs with --cases all")
    content = (models / "networks" / f"{network}.tflite").read_bytes()
    options = Options(target="wgsl", device="webgpu", fallback="none")
    variant = read_variant(pipeline.write(pipeline.build(content, options), tmp_path / "cache"))
    export([variant], tmp_path / "network", "network", False)
    (tmp_path / "empty.html").write_text("<!doctype html><title>empty</title>")
    reference = Reference(content)
    random = np.random.default_rng(3)
    inputs = [
        random.random(info.shape, np.float32)
        if info.dtype == "float32"
        else random.integers(0, 100, info.shape).astype(info.dtype)
        for info in reference.inputs
    ]
    with http_server(tmp_path) as address:
        page = browser.new_page()
        page.set_default_timeout(120_000)
        page.goto(f"{address}/empty.html")
        found = page.evaluate(RUN, [array.ravel().tolist() for array in inputs])
        page.close()
    for result, expected in zip(found, reference.run(inputs), strict=True):
        exact = expected.dtype != np.float32
        np.testing.assert_allclose(result, expected.ravel(), 0, 0 if exact else 1e-4)
