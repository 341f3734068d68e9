"""Real networks recognize what is in real images."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from tflgpu.compiler.ir import Array
from tflgpu.runtime import Session


def image_of(models: Path, name: str, size: int) -> Array:
    """An image as the three networks below take it: square, with values from -1 to 1."""
    with Image.open(models.parent / "images" / name) as image:
        resized = image.convert("RGB").resize((size, size), Image.Resampling.BILINEAR)
    return np.asarray(resized, np.float32)[None] / 127.5 - 1


def test_a_burger_is_a_cheeseburger(models: Path, opened: Callable[..., Session]) -> None:
    path = models / "networks/mobilenet_v1/mobilenet_v1_0.25_224_1_default_1.tflite"
    with opened(path) as session:
        (scores,) = session.run(image_of(models, "burger.jpg", 224)).values()
    labels = (models.parent / "labels/imagenet_labels_1001.txt").read_text().splitlines()
    assert labels[int(scores.argmax())] == "cheeseburger"


def test_a_person_is_found(models: Path, opened: Callable[..., Session]) -> None:
    path = models / "networks/deeplab_v3/deeplabv3.tflite"
    labels = json.loads((models.parent / "labels/deeplabv3_labels.json").read_text())
    with opened(path) as session:
        (scores,) = session.run(image_of(models, "segmentation_input.jpg", 257)).values()
    classes = scores[0].argmax(-1)
    assert labels[15] == "person" if isinstance(labels, list) else labels["15"] == "person"
    assert 0.05 < float(np.mean(classes == 15)) < 0.95


def test_a_face_is_found(models: Path, opened: Callable[..., Session]) -> None:
    path = models / "networks/mediapipe_face/face_detection_front.tflite"
    with opened(path) as session:
        results = session.run(image_of(models, "portrait.jpg", 128))
    scores = next(value for value in results.values() if value.shape[-1] == 1)
    probability = 1 / (1 + np.exp(-scores.max()))
    assert probability > 0.75
    assert float(np.mean(scores > 0)) < 0.1
