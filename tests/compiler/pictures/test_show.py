"""What outputs show of a picture: which kind, what is found, and the drawing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL import Image

from tflgpu.compiler.frontend.metadata import Metadata, TensorMetadata
from tflgpu.compiler.pictures.candidates import LAYOUTS
from tflgpu.compiler.pictures.classes import best_classes, scores_of
from tflgpu.compiler.pictures.drawing import color
from tflgpu.compiler.pictures.outputs import Output, real_outputs
from tflgpu.compiler.pictures.show import shown_in
from tflgpu.runtime import InputError, TensorInfo

PHOTO = Image.new("RGB", (60, 40), (10, 20, 30))


def output(values: Any, *shape: int, labels: tuple[str, ...] = ()) -> Output:
    return Output("y", np.asarray(values, np.float64).reshape(shape or np.shape(values)), labels)


def detections(*order: int) -> list[Output]:
    edges = output([[0.25, 0.5, 0.75, 1], [0, 0, 0.5, 0.5], [0, 0, 1, 1]], 1, 3, 4)
    classes, scores = output([[2, 0, 1]], labels=("cat", "dog", "owl")), output([[0.6, 0.9, 0.1]])
    found = [edges, classes, scores, output([3.0])]
    return [found[number] for number in order]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 0, 3, 1)])
def test_boxes(order: tuple[int, ...]) -> None:
    kind, shown = shown_in(detections(*order), ())
    assert kind == "boxes"
    first, second = shown.records()
    assert (first["label"], first["score"], first["index"]) == ("cat", 0.9, 0)
    assert second == {
        **{"label": "owl", "index": 2, "score": 0.6},
        **{"top": 0.25, "left": 0.5, "bottom": 0.75, "right": 1.0},
    }
    drawn = shown.draw(PHOTO)
    assert drawn.size == PHOTO.size and PHOTO.getpixel((30, 25)) == (10, 20, 30)
    assert drawn.getpixel((30, 25)) == color(3) and drawn.getpixel((50, 25)) == (10, 20, 30)
    named = shown_in(detections(*order), ("a", "b"))[1].records()
    assert [item["label"] for item in named] == ["a", "class 2"]


def test_a_mask_of_classes() -> None:
    scores = np.zeros((1, 2, 3, 4))
    scores[0, :, 0, 2], scores[0, 0, 1, 3] = 1, 1
    kind, shown = shown_in([output(scores)], ("sky", "a", "b", "c"))
    assert kind == "mask"
    found = [(item["class"], round(item["share"], 3), item["color"]) for item in shown.records()]
    assert found == [("sky", 0.5, "none"), ("b", 0.333, "#008000"), ("c", 0.167, "#808000")]
    drawn = shown.draw(PHOTO)
    assert drawn.size == PHOTO.size
    assert drawn.getpixel((58, 38)) == (10, 20, 30)
    red, green, blue = drawn.getpixel((2, 38))  # type: ignore[misc]
    assert (red, green, blue) == (4, 85, 12)  # 0.6 of (0, 128, 0) over the picture


@pytest.mark.parametrize(
    ("values", "share"), [([0.1, 0.6, 0.4, 0.9], 0.5), ([-3, 0.1, 0.4, 2], 0.75)]
)
def test_a_mask_of_one_class(values: list[float], share: float) -> None:
    _, shown = shown_in([output(values, 1, 2, 2, 1)], (), "mask")
    assert {item["class"]: item["share"] for item in shown.records()}["foreground"] == share


def test_a_mask_that_is_computed_by_arg_max() -> None:
    _, shown = shown_in([output(np.tile([0, 7], 32), 1, 8, 8)], ())
    assert [item["class"] for item in shown.records()] == ["class 0", "class 7"]


def test_keypoints() -> None:
    points = [[0.25, 0.5, 0.9], [0.75, 0.1, 0.1]]
    kind, shown = shown_in([output(points, 1, 1, 2, 3)], ())
    assert kind == "keypoints"
    assert shown.records()[0] == {"pose": 0, "index": 0, "y": 0.25, "x": 0.5, "score": 0.9}
    drawn = shown.draw(PHOTO)
    assert drawn.getpixel((30, 10)) == color(1) and drawn.getpixel((6, 30)) == (10, 20, 30)
    heatmaps = np.full((1, 5, 10, 2), -5.0)
    heatmaps[0, 3, 2, 0], heatmaps[0, 0, 9, 1] = 2.0, 0.0
    found = shown_in([output(heatmaps)], (), "keypoints")[1].records()
    assert [(item["y"], item["x"]) for item in found] == [(0.7, 0.25), (0.1, 0.95)]
    assert found[1]["score"] == 0.5


def test_keypoints_of_several_bodies() -> None:
    """Those of MoveNet: 17 points, then the edges and the score of each body."""
    bodies = np.zeros((1, 6, 56))
    bodies[0, :, 0:51:3] = np.linspace(0.1, 0.6, 6)[:, None]
    bodies[0, :, 2:51:3], bodies[0, :2, 55] = 0.9, (0.8, 0.3)
    kind, shown = shown_in([output(bodies)], ())
    assert kind == "keypoints" and len(shown.records()) == 2 * 17
    assert {(item["pose"], round(item["y"], 3)) for item in shown.records()} == {(0, 0.1), (1, 0.2)}
    assert shown.draw(PHOTO).getpixel((1, 8)) == color(2)


CENTERS = [(0.5, 0.5, 0.4, 0.2), (0.51, 0.5, 0.4, 0.2), (0.5, 0.51, 0.4, 0.2), (0.2, 0.9, 0.2, 0.2)]
SCORES = [(0.9, 0.1, 0.0), (0.8, 0.2, 0.0), (0.1, 0.6, 0.0), (0.4, 0.0, 0.3)]
"""Of four boxes: two of one class that overlap, one of another at the same place, none."""


def candidates(layout: str, scale: tuple[float, float] = (1.0, 1.0)) -> Output:
    """The boxes above, and others that show nothing, as a network of the layout writes them."""
    rows = np.zeros((20, 8 if layout == "yolov5" else 7))
    rows[:4, :4] = np.array(CENTERS) * np.tile(scale, 2)
    rows[:4, -3:] = SCORES
    if layout == "yolov5":
        rows[:4, 4], rows[:4, -3:] = 0.95, np.array(SCORES) / 0.95
    return output((rows.T if layout == "yolov8" else rows)[None])


@pytest.mark.parametrize("layout", list(LAYOUTS))
@pytest.mark.parametrize("scale", [(1.0, 1.0), (320.0, 160.0)])
def test_boxes_without_postprocessing(layout: str, scale: tuple[float, float]) -> None:
    found = [candidates(layout, scale)]
    for chosen, names in ((layout, ()), ("", ("cat", "dog", "owl"))):
        kind, shown = shown_in(found, names, "boxes", chosen, (160, 320))
        assert kind == "boxes"
        assert [(item["index"], round(item["score"], 6)) for item in shown.records()] == [
            (0, 0.9),
            (1, 0.6),
        ]
        edges = [shown.records()[0][key] for key in ("top", "left", "bottom", "right")]
        assert edges == pytest.approx([0.4, 0.3, 0.6, 0.7])


def test_candidates_of_several_possible_layouts() -> None:
    with pytest.raises(InputError, match="choose one with --layout yolov5 or --layout yolov8_rows"):
        shown_in([candidates("yolov5")], (), "boxes")
    with pytest.raises(InputError, match="show no boxes"):
        shown_in([candidates("yolov5")], (), "boxes", "yolov8")
    logits = output(candidates("yolov5").values * 9 - 1)
    with pytest.raises(InputError, match="show no boxes"):
        shown_in([logits], (), "boxes")


@pytest.mark.parametrize(
    ("low", "high", "pixels"), [(0, 1, (0, 255)), (-1, 1, (0, 255)), (-40, 200, (0, 200))]
)
def test_an_image(low: float, high: float, pixels: tuple[int, int]) -> None:
    values = np.full((1, 4, 6, 3), low, np.float64)
    values[0, 1, 2] = high
    kind, shown = shown_in([output(values)], ())
    assert kind == "image"
    drawn = shown.draw(PHOTO)
    assert drawn.size == (6, 4)
    assert (drawn.getpixel((0, 0)), drawn.getpixel((2, 1))) == tuple((p,) * 3 for p in pixels)


NOT_FINITE = pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])


@NOT_FINITE
@pytest.mark.parametrize("place", [0, 1, 2])
def test_boxes_that_are_not_finite_are_left_out(place: int, wrong: float) -> None:
    found = detections(0, 1, 2, 3)
    found[place].values[0, 0, ...] = wrong
    shown = shown_in(found, (), "boxes")[1]
    assert [item["index"] for item in shown.records()] == [0]
    shown.draw(PHOTO)


@pytest.mark.parametrize(("count", "shown"), [(np.nan, 0), (np.inf, 2), (-1, 0), (1, 1), (99, 2)])
def test_a_count_of_boxes_that_is_out_of_range(count: float, shown: int) -> None:
    found = [*detections(0, 1, 2), output([count])]
    assert len(shown_in(found, (), "boxes")[1].records()) == shown


@pytest.mark.filterwarnings("error")
@NOT_FINITE
def test_points_and_pixels_that_are_not_finite(wrong: float) -> None:
    points = output([[0.25, wrong, 0.9], [0.75, 0.1, 0.9]], 1, 1, 2, 3)
    shown = shown_in([points], ())[1]
    assert [item["index"] for item in shown.records()] == [1]
    shown.draw(PHOTO)
    pixels = np.zeros((1, 4, 6, 3))
    pixels[0, 0, 0], pixels[0, 1, 1] = wrong, 0.5
    drawn = shown_in([output(pixels)], (), "image")[1].draw(PHOTO)
    assert drawn.getpixel((0, 0)) == ((255,) * 3 if wrong > 0 else (0, 0, 0))
    classes = np.ones((1, 8, 8))
    classes[0, 0, 0] = wrong
    records = shown_in([output(classes)], (), "mask")[1].records()
    assert [item["class"] for item in records] == ["class 1", "class 0"]


@pytest.mark.filterwarnings("error")
def test_heatmaps_of_very_low_logits() -> None:
    found = shown_in([output(np.full((1, 5, 10, 2), -1e3))], (), "keypoints")[1].records()
    assert [item["score"] for item in found] == [0, 0]


def test_outputs_that_show_nothing() -> None:
    with pytest.raises(InputError, match=r"show no keypoints: y \[1, 10\]; write them as they are"):
        shown_in([output(np.zeros((1, 10)))], (), "keypoints")
    with pytest.raises(InputError, match="show no boxes, mask, keypoints or image"):
        shown_in([output(np.zeros((1, 10)))], ())


def test_classes_of_a_quantized_output() -> None:
    info = TensorInfo("y", (1, 4), "uint8", 0.5, 10)
    said = Metadata((), (TensorMetadata("", labels=("a", "b", "c", "d")),))
    (found,) = real_outputs([info], {"y": np.array([[10, 30, 0, 20]], np.uint8)}, said)
    assert scores_of([found]) is found
    best = best_classes(found, found.labels)
    assert [(item.label, item.score) for item in best] == [
        ("b", 10.0),
        ("d", 5.0),
        ("a", 0.0),
        ("c", -5.0),
    ]
