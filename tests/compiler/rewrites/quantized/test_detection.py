"""Boxes of 8-bit encodings, which LiteRT decodes in float64."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from agreement import assert_agrees
from devices import Attached
from flatbuffers import flexbuffers
from graphs import Call, Model, Part, affine, known, model, xq

from tflgpu.compiler import Options, pipeline

BOXES = 61
MOST = 23


def detector(scale: float) -> Model:
    """Encodings with that scale in; boxes, classes, scores and their number out."""
    random = np.random.default_rng(29)
    anchors = random.integers(1, 256, (BOXES, 4)).astype(np.uint8)
    options = flexbuffers.Builder()
    with options.Map():
        for name, divisor in (("y", 10.0), ("x", 10.0), ("h", 5.0), ("w", 5.0)):
            options.Float(f"{name}_scale", divisor)
        options.Float("nms_iou_threshold", 0.6)
        options.Float("nms_score_threshold", 0.0)
        options.Int("max_detections", MOST)
        options.Int("max_classes_per_detection", 1)
        options.Int("num_classes", 3)
    operands = (
        xq(1, BOXES, 4, dtype="uint8", scale=scale, zero=117),
        xq(1, BOXES, 4, dtype="uint8", scale=1 / 256),
        known(anchors, affine(0.0039)),
    )
    attrs = {"custom_options": bytes(options.Finish())}
    found = Call("TFLite_Detection_PostProcess", operands, attrs, outputs=4)
    return model({"found": [Part(found, position) for position in range(4)]})


def test_boxes_have_the_bits_of_litert(attached: Attached, tmp_path: Path) -> None:
    options = {"target": attached.target}
    assert_agrees(detector(0.0323), attached.device, tmp_path, tolerance=0.0, **options)


@pytest.mark.parametrize("scale, wide", [(0.5, True), (5.0, False)])
def test_sizes_beyond_floats_are_computed_with_floats(scale: float, wide: bool) -> None:
    compiled = pipeline.build(detector(scale).content, Options(device="gpu", fallback="none"))
    assert any("multiply_add_wide" in source for source in compiled.sources.values()) == wide
