"""STABLEHLO_CONVOLUTION: what it becomes, what it computes, and what it refuses."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement import run
from cases.stablehlo_convolutions import CHANNELS_LAST, OPERATOR, VOLUMES, Axes
from devices import Way
from graphs import Model, call, known, model, w, x

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.devices import profile
from tflgpu.compiler.errors import ModelError, UnsupportedError
from tflgpu.compiler.ir import Shape
from tflgpu.compiler.rewrites.decompose.decomposition import decompose_operators
from tflgpu.compiler.target import Target

OF_FOUR_AXES = Axes(*[(0, 1, 2, 3, 4, 5)] * 3)

# Of PyTorch's conv_transpose3d(x, w, stride=(2, 1, 2), padding=(1, 0, 1)).
TRANSPOSED = [
    *(-6, -7, 10, -1, 0, 4, 0, 10, -5, 7, 12, -7, 4, -5, -12, -1, 3, 2),
    *(3, 5, -12, -10, 4, 4, 12, -11, -5, 18, 0, -3, 0, 4, 10, -9, -6, 6),
]

ONE_GROUP = {"feature_group_count": 1, "batch_group_count": 1}


def made(axes: Axes, image: Shape, weights: Shape, **attrs: Any) -> Model:
    given = ONE_GROUP | attrs | axes.attrs
    return model({"y": call(OPERATOR, x(*image), w(*weights), **given)})


def test_transposed_convolutions_of_volumes_agree_with_pytorch(way: Way, tmp_path: Path) -> None:
    image = (np.arange(16) % 5 - 2).reshape(1, 2, 2, 2, 2).astype(np.float32)
    weights = (np.arange(48) % 7 - 3).reshape(2, 2, 3, 2, 2).astype(np.float32)
    attrs: dict[str, Any] = {"padding": (1, 1, 1, 1, 0, 0), "lhs_dilation": (2, 1, 2)}
    attrs |= {"window_reversal": (True, True, True), **ONE_GROUP, **VOLUMES.attrs}
    whole = model({"y": call(OPERATOR, x(*image.shape), known(weights), **attrs)})
    options = Options(way.target, device=way.profile, fallback="none")
    compiled = pipeline.build(whole.content, options)
    actual = run(compiled, way.device, tmp_path, dict.fromkeys(whole.inputs, image))
    np.testing.assert_array_equal(actual["y"], np.reshape(TRANSPOSED, (1, 2, 3, 3, 2)))


@pytest.mark.parametrize(
    ("weights", "groups", "operator"),
    [
        ((3, 2, 4, 5), 1, "CONV_2D"),
        ((3, 2, 2, 6), 2, "CONV_2D"),
        ((3, 2, 1, 4), 4, "DEPTHWISE_CONV_2D"),
        ((3, 2, 1, 8), 4, "CONV_2D"),
    ],
)
def test_axes_in_the_order_of_images_are_not_moved(
    weights: Shape, groups: int, operator: str
) -> None:
    attrs = {"padding": (1, 1, 0, 1), "feature_group_count": groups}
    graph = made(CHANNELS_LAST, (2, 5, 7, 4), weights, **attrs).graph
    decompose_operators(graph, Target(profile("cpu_avx512")))
    (op,) = graph.ops
    assert op.name == operator
    assert op.attrs["padding"] == ((1, 1), (0, 1))


def test_four_axes_are_refused() -> None:
    content = made(OF_FOUR_AXES, (1, 3, 3, 3, 3, 2), (2, 2, 2, 2, 2, 2)).content
    reason = f"operator 0 {OPERATOR}: its window moves along 4 axes, and at most 3 are supported"
    with pytest.raises(UnsupportedError, match=reason):
        pipeline.build(content, Options(device="cpu_avx512", fallback="none"))


@pytest.mark.parametrize(
    ("weights", "attrs", "reason"),
    [
        ((3, 2, 4, 5), {"feature_group_count": 2}, "4 channels of 2 images and weights"),
        ((3, 2, 4, 5), {"batch_group_count": 2}, "do not fit 1 groups of channels and 2 groups"),
        ((3, 2, 4), {}, r"axes \[3, 0, 1, 2\] for|axes \[0, 1, 2, 3\] for"),
        ((3, 2, 4, 5), {"padding": (1, 1)}, r"padding \[1, 1\] for 2 axes"),
        ((3, 2, 4, 5), {"window_strides": (0, 1)}, "window of 3, stride 0, dilation 1"),
        ((3, 2, 4, 5), {"rhs_dilation": (4, 1)}, "a window of 3 does not fit an axis of 5"),
    ],
)
def test_what_does_not_fit_is_refused(weights: Shape, attrs: dict[str, Any], reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        made(CHANNELS_LAST, (2, 5, 7, 4), weights, **attrs)
