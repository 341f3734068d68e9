"""Boxes of 8-bit encodings, which LiteRT decodes in float64."""

from pathlib import Path

import numpy as np
import pytest
from agreement import assert_agrees
from devices import Attached
from graphs import Model, affine, detected, known, model, xq

from tflgpu.compiler import Options, pipeline

BOXES = 61
MOST = 23


def detector(scale: float) -> Model:
    """Encodings with that scale in; boxes, classes, scores and their number out."""
    random = np.random.default_rng(29)
    anchors = random.integers(1, 256, (BOXES, 4)).astype(np.uint8)
    operands = (
        xq(1, BOXES, 4, dtype="uint8", scale=scale, zero=117),
        xq(1, BOXES, 4, dtype="uint8", scale=1 / 256),
        known(anchors, affine(0.0039)),
    )
    found = detected(
        *operands,
        nms_iou_threshold=0.6,
        nms_score_threshold=0.0,
        max_detections=MOST,
        num_classes=3,
    )
    return model({"found": found})


def test_boxes_have_the_bits_of_litert(attached: Attached, tmp_path: Path) -> None:
    options = {"target": attached.target}
    assert_agrees(detector(0.0323), attached.device, tmp_path, 0.0, **options)


@pytest.mark.parametrize("scale, wide", [(0.5, True), (5.0, False)])
def test_sizes_beyond_floats_are_computed_with_floats(scale: float, wide: bool) -> None:
    compiled = pipeline.build(detector(scale).content, Options(device="gpu", fallback="none"))
    assert any("multiply_add_wide" in source for source in compiled.sources.values()) == wide
