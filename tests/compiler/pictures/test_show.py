"""What outputs show of a picture: which kind, what is found, and the drawing."""

import numpy as np
import pytest
from PIL import Image
from shown_outputs import anchored, candidates, detections, output, posenet

from tflgpu.compiler.frontend.metadata import Metadata, TensorMetadata
from tflgpu.compiler.pictures.candidates import LAYOUTS
from tflgpu.compiler.pictures.drawing import color
from tflgpu.compiler.pictures.families import family_of
from tflgpu.compiler.pictures.outputs import (
    are_probabilities,
    best_classes,
    real_outputs,
    scores_of,
)
from tflgpu.compiler.pictures.show import class_names, shown_in
from tflgpu.runtime import InputError, TensorInfo

PHOTO = Image.new("RGB", (60, 40), (10, 20, 30))


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 0, 3, 1)])
def test_boxes_are_drawn_with_class_and_score(order: tuple[int, ...]) -> None:
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


def test_keypoints_are_drawn() -> None:
    points = [[0.25, 0.5, 0.9], [0.75, 0.1, 0.1]]
    kind, shown = shown_in([output(points, 1, 1, 2, 3)], ())
    assert kind == "keypoints"
    assert shown.records()[0] == {
        **{"pose": 0, "index": 0, "name": ""},
        **{"y": 0.25, "x": 0.5, "score": 0.9},
    }
    drawn = shown.draw(PHOTO)
    assert drawn.getpixel((30, 10)) == color(1) and drawn.getpixel((6, 30)) == (10, 20, 30)
    heatmaps = np.full((1, 5, 10, 2), -5.0)
    heatmaps[0, 3, 2, 0], heatmaps[0, 0, 9, 1] = 2.0, 0.0
    found = shown_in([output(heatmaps)], (), "keypoints")[1].records()
    assert [(item["y"], item["x"]) for item in found] == [(0.7, 0.25), (0.1, 0.95)]
    assert found[1]["score"] == 0.5


@pytest.mark.parametrize("joined", [True, False])
def test_bodies_of_posenet(joined: bool) -> None:
    outputs, size = posenet(joined), (65, 129)
    kind, shown = shown_in(outputs, (), size=size)
    records = shown.records()
    assert kind == "keypoints" and len(records) == 34
    assert [(r["pose"], r["name"]) for r in records[15:18]] == [
        *((0, "left ankle"), (0, "right ankle"), (1, "nose"))
    ]
    for number, record in enumerate(records):
        row, part = (2, 6)[number // 17], number % 17
        place = (record["y"] * size[0], record["x"] * size[1])
        assert place == pytest.approx((8 * row + 1, 8 * part + 2))
    assert shown.draw(PHOTO).getpixel((32, 11)) == color(1)  # the line between two points
    first = shown_in(outputs[:2], (), size=size)[1].records()
    assert len(first) == 17 and {round(r["y"] * 65) for r in first} == {17}


def test_what_is_not_clear_is_asked() -> None:
    for outputs, hint in (
        ([output(np.zeros((1, 12, 12, 14)))], "it is not clear what the outputs show"),
        (
            [output(np.full((1, 896, k), -3.0)) for k in (18, 1)],
            "look like boxes and scores of anc",
        ),
    ):
        with pytest.raises(InputError, match=hint):
            shown_in(outputs, (), size=(48, 48))
    with pytest.raises(InputError, match="show no mask"):
        shown_in([output(np.full((1, 896, 18), 0.3))], (), "mask")
    assert shown_in([output(np.zeros((1, 12, 12, 14)))], (), size=(12, 12))[0] == "mask"


def test_the_best_box_that_scores_too_little_is_named() -> None:
    assert shown_in(detections(0, 1, 2, 3), (), "boxes")[1].nothing() == ""
    shown = shown_in(detections(0, 1, 2, 3), (), "boxes", least=0.95)[1]
    assert shown.records() == [] and shown.nothing() == (
        "No boxes with a score of 0.95 found; the best one, cat, has 0.9: --threshold 0.9 shows it"
    )
    near = shown_in([candidates("yolov8")], (), "boxes", "yolov8", (1, 1), 0.91)[1]
    assert "class 0, has 0.9" in near.nothing()


def test_families_and_data_sets() -> None:
    known = family_of("deeplabv3.tflite", ["MobilenetV2/Conv/Relu6"])
    assert known and known.name == "DeepLab" and known.scaling.mean == (127.5,)
    assert family_of("x.tflite", ["a", "InceptionV3/Conv/Relu6"]).std == 127.5  # type: ignore[union-attr]
    assert family_of("x.tflite", ["hub_input/Mul", "MobilenetV1/x"]).std == 255  # type: ignore[union-attr]
    assert family_of("mine.tflite", ["conv2d"]) is None
    assert class_names([output(np.zeros((1, 9, 9, 21)))], "x.tflite") == "Pascal VOC"
    assert class_names([output(np.zeros((1, 9, 9, 20)))], "x.tflite") == ""
    argmax = [output(np.ones((1, 9, 9)))]
    assert class_names(argmax, "deeplabv3_pascal.tflite") == "Pascal VOC"
    assert class_names(argmax, "x.tflite") == ""


def test_keypoints_of_several_bodies() -> None:
    """Those of MoveNet: 17 points, then the edges and the score of each body."""
    bodies = np.zeros((1, 6, 56))
    bodies[0, :, 0:51:3] = np.linspace(0.1, 0.6, 6)[:, None]
    bodies[0, :, 2:51:3], bodies[0, :2, 55] = 0.9, (0.8, 0.3)
    kind, shown = shown_in([output(bodies)], ())
    assert kind == "keypoints" and len(shown.records()) == 2 * 17
    assert {(item["pose"], round(item["y"], 3)) for item in shown.records()} == {(0, 0.1), (1, 0.2)}
    assert shown.draw(PHOTO).getpixel((1, 8)) == color(2)


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


def test_boxes_relative_to_anchors() -> None:
    kind, shown = shown_in(anchored(), ("face",), size=(128, 128))
    assert kind == "boxes"
    first, second = shown.records()
    assert (first["label"], first["score"]) == ("face", pytest.approx(1 / (1 + np.exp(-3))))
    edges = [first[edge] * 128 for edge in ("top", "left", "bottom", "right")]
    assert edges == pytest.approx([20 - 4 - 12, 44 + 4 - 16, 20 - 4 + 12, 44 + 4 + 16])
    edges = [second[edge] * 128 for edge in ("top", "left", "bottom", "right")]
    assert edges == pytest.approx([104 - 8, 24 - 8, 104 + 8, 24 + 8])
    with pytest.raises(InputError, match="look like boxes and scores of anchors"):
        shown_in(anchored(), (), size=(96, 96))


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
def test_an_image_is_shown_as_it_is(low: float, high: float, pixels: tuple[int, int]) -> None:
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
    with pytest.raises(InputError, match=r"not clear .*scores of classes are printed, not drawn"):
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


@pytest.mark.parametrize("spread", [0.1, 2.0, 4.0])
def test_probabilities_of_bytes_are_recognized_among_many_classes(spread: float) -> None:
    """Most are below half a step, which counts as 0."""
    odds = np.exp(spread * np.random.default_rng(3).standard_normal((1, 1001)))
    info = TensorInfo("y", (1, 1001), "uint8", 1 / 256, 0)
    scores = np.rint(odds / odds.sum() * 256).clip(0, 255).astype(np.uint8)
    (found,) = real_outputs([info], {"y": scores}, Metadata())
    assert are_probabilities(found)
    assert not are_probabilities(output(found.values + 1.1 / 1001))
