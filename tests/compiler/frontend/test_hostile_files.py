"""Damaged and malicious models end in a result or in a TflgpuError: no traceback, hang or bomb."""

from pathlib import Path

import numpy as np
import pytest
from flatbuffers import flexbuffers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from paths import DIGITS_MODEL

from tflgpu.compiler import Options, build
from tflgpu.compiler.errors import PassError, RenderError
from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Quantization, Tensor, constant
from tflgpu.runtime.errors import TflgpuError, TflgpuWarning

pytestmark = pytest.mark.slow

QUICK = settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def attempt(model: bytes) -> bool:
    """Whether a model can be read; anything raised but a TflgpuError fails the test.

    What can be read is compiled, too: that may end in findings, or with a warning of damaged
    metadata, but never in a bug of ours.
    """
    try:
        str(read(model))
    except TflgpuError as error:
        assert len(str(error)) < 1000
        return False
    try:
        build(model, Options(device="cpu", fallback="none"))
    except TflgpuError as error:
        assert not isinstance(error, PassError | RenderError), error
    except TflgpuWarning as warning:
        assert "metadata is ignored" in str(warning)
    return True


def small() -> bytes:
    """A model with a bit of everything: options, quantization, a custom operator, packed types."""
    random = np.random.default_rng(11)
    graph = Graph("small")
    x, y, z = (Tensor(name, (1, 5, 7, 3)) for name in "xyz")
    scales = Quantization((0.5, 0.25, 2.0), (0, 0, 0), 0)
    weights = random.integers(-8, 8, (3, 1, 1, 3)).astype(np.int8)
    packed = Tensor("weights", weights.shape, "int4", weights, scales)
    bias = constant("bias", random.standard_normal(3).astype(np.float32))
    attrs = {"padding": "VALID", "stride_w": 1, "stride_h": 1}
    graph.add(Op("CONV_2D", (x, packed, bias), (y,), attrs))
    raw = bytes(flexbuffers.Dumps({"sizes": [3, 5], "mode": "nearest"}))
    words = np.array([b"seven", b"eleven"], object)
    text = Tensor("words", (2,), "string", words)
    graph.add(Op("Resample", (y, text, None), (z,), {"custom_options": raw}, 1))
    graph.inputs, graph.outputs = [x], [z]
    graph.input_names, graph.output_names = ["x"], ["z"]
    return write(graph)


SMALL = small()


def flipped(model: bytes, flips: list[tuple[int, int]]) -> bytes:
    damaged = bytearray(model)
    for position, value in flips:
        damaged[position % len(damaged)] = value
    return bytes(damaged)


FLIPS = st.lists(
    st.tuples(
        st.integers(0, 1 << 20), st.sampled_from([0, 1, 127, 128, 255]) | st.integers(0, 255)
    ),
    min_size=1,
    max_size=12,
)

NETWORK = DIGITS_MODEL.read_bytes()


@given(FLIPS, st.integers(0, len(NETWORK)))
@settings(QUICK, max_examples=150)
def test_a_damaged_network_compiles_or_says_why(flips: list[tuple[int, int]], length: int) -> None:
    attempt(flipped(NETWORK, flips))
    attempt(NETWORK[:length])


def test_the_sound_model_is_accepted() -> None:
    assert attempt(SMALL)


def test_every_truncation_is_a_model_error() -> None:
    for length in range(len(SMALL)):
        attempt(SMALL[:length])
    assert not attempt(SMALL[: len(SMALL) // 2])


@QUICK
@given(flips=FLIPS)
def test_flipped_bytes_are_a_model_error_at_most(flips: list[tuple[int, int]]) -> None:
    attempt(flipped(SMALL, flips))


@QUICK
@given(model=st.binary(max_size=512))
def test_noise_behind_a_sound_header(model: bytes) -> None:
    attempt(SMALL[:8] + model)


@pytest.mark.parametrize("number", [0xFFFFFFFF, 0x7FFFFFFF, 0x10000])
def test_every_word_of_the_file_replaced(number: int) -> None:
    """Each aligned word in turn becomes an extreme number: all lengths, offsets and indices."""
    for position in range(8, len(SMALL) - 3, 4):
        attempt(SMALL[:position] + number.to_bytes(4, "little") + SMALL[position + 4 :])


@QUICK
@given(length=st.integers(0, 1 << 20), flips=FLIPS)
def test_real_models_damaged(models: Path, length: int, flips: list[tuple[int, int]]) -> None:
    paths = sorted(path for path in models.glob("ops/*/*.tflite") if path.stat().st_size < 8192)
    model = paths[length % len(paths)].read_bytes()
    attempt(flipped(model, flips))
    attempt(model[: length % len(model)])


def test_models_made_to_be_hostile(models: Path) -> None:
    for path in sorted(models.glob("hostile/**/*.tflite")):
        attempt(path.read_bytes())
        attempt(SMALL[:4] + b"TFL3" + path.read_bytes()[8:])
        attempt(path.read_bytes()[:4] + b"TFL3" + path.read_bytes()[8:])
