"""Kernels for Vulkan that load or store several neighbouring pixels, or weights, at once, on
lavapipe."""

from pathlib import Path

import lavapipe
import pytest
from agreement import assert_litert
from cases.convolutions import window
from devices import need_programs, own_profile
from graphs import Value, call, model, w, x

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.options import Precision

TOLERANCES: dict[Precision, float] = {"f32": 1e-4, "f16": 1e-2, "f32_f16": 1e-2}


def pooled(image: Value) -> Value:
    """A value that is stored in slices, as pools read and write them."""
    size = {"filter_height": 2, "filter_width": 2, "stride_h": 1, "stride_w": 1}
    return call("MAX_POOL_2D", image, padding="SAME", **size)


def depthwise(
    height: int, width: int, channels: int, size: tuple[int, int], **options: object
) -> Value:
    """A depthwise convolution with an activation."""
    image, weights = pooled(x(2, height, width, channels)), w(1, *size, channels)
    value = call("DEPTHWISE_CONV_2D", image, weights, w(channels), **{**window(), **options})
    return pooled(call("RELU6", value))


DEPTHWISE = {
    "same": depthwise(10, 12, 7, (3, 3)),
    "one row of pairs": depthwise(3, 2, 5, (3, 3)),
    "valid": depthwise(11, 14, 4, (3, 3), padding="VALID"),
    "strides": depthwise(10, 12, 5, (3, 3), stride_h=2, stride_w=2),
    "strides, odd rows": depthwise(9, 12, 5, (3, 3), stride_h=2, stride_w=2),
    "strides, odd results": depthwise(14, 14, 8, (3, 3), stride_h=2, stride_w=2),
    "strides only across": depthwise(8, 12, 8, (3, 3), stride_w=2),
    "a stride of 3": depthwise(13, 18, 4, (3, 3), stride_h=3, stride_w=3),
    "two by two": depthwise(6, 8, 4, (2, 2), stride_h=2, stride_w=2),
    "a column": depthwise(9, 6, 4, (3, 1)),
    "a row": depthwise(5, 8, 4, (1, 3)),
    "odd columns": depthwise(5, 7, 6, (3, 3)),
    "many rows": depthwise(37, 4, 4, (3, 3)),
}
PIXELS = {
    "eight": pooled(call("CONV_2D", pooled(x(1, 4, 12, 16)), w(4, 1, 1, 16), w(4), **window())),
    "four": pooled(call("CONV_2D", pooled(x(1, 6, 6, 8)), w(7, 1, 1, 8), w(7), **window())),
    "rows": pooled(call("CONV_2D", x(1, 17, 16, 3), w(21, 3, 3, 3), w(21), **window())),
    "next": pooled(call("CONV_2D", pooled(x(2, 9, 8, 8)), w(8, 3, 3, 8), w(8), **window())),
}


def product(inputs: int, outputs: int) -> Value:
    """A vector, which is stored in slices, times a matrix."""
    size = {"filter_height": 2, "filter_width": 2, "stride_h": 2, "stride_w": 2}
    vector = call("MAX_POOL_2D", x(1, 2, 2, inputs), padding="VALID", **size)
    return call("CONV_2D", vector, w(outputs, 1, 1, inputs), w(outputs), **window())


VECTORS = {"whole slices": product(96, 20), "part of a slice": product(67, 30)}


def check(
    values: dict[str, Value], precision: Precision, profile: str, device: lavapipe.Lavapipe
) -> str:
    """Compare with LiteRT what a device computes; returns the text of all kernels."""
    need_programs("glslangValidator")
    made = model(values)
    options = Options(target="vulkan", device=profile, precision=precision, fallback="none")
    compiled = pipeline.build(made.content, options)
    assert_litert(device.run(compiled, made.inputs), made, TOLERANCES[precision])
    return "\n".join(compiled.sources.values())


@pytest.mark.parametrize("precision", TOLERANCES)
def test_pairs_of_columns_agree_with_litert(
    precision: Precision, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Others have kernels that do not load pairs: one is enough.
    values = DEPTHWISE if precision == "f16" else {"same": DEPTHWISE["same"]}
    with lavapipe.device(monkeypatch) as device:
        text = check(values, precision, "mali", device)
    assert text.count("// depthwise_conv_pairs") == (len(values) if precision == "f16" else 0)
    assert ("uvec4 both" in text) == (precision == "f16")


@pytest.mark.parametrize("precision", TOLERANCES)
def test_several_pixels_are_stored_at_once(
    precision: Precision, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tiles are as large as possible where a few work-items keep a device busy."""
    profile = own_profile(tmp_path, "mali", work_items=1)
    with lavapipe.device(monkeypatch) as device:
        text = check(PIXELS, precision, profile, device)
    for element in ("mat4",) if precision == "f32" else ("pairs2", "pairs4"):
        assert f"{element} y[];" in text


@pytest.mark.parametrize("precision", TOLERANCES)
def test_vectors_times_matrices_load_two_slices_of_weights(
    precision: Precision, monkeypatch: pytest.MonkeyPatch
) -> None:
    with lavapipe.device(monkeypatch) as device:
        text = check(VECTORS, precision, "mali", device)
    assert text.count("// split_sums") == len(VECTORS)
    assert ("pair = constants" in text) == (precision != "f32")
