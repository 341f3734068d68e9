"""The demo of projects for browsers: what it finds in outputs, and the page in Chromium."""

from typing import Any

import numpy as np
import pytest
from paths import DIGITS
from shown_outputs import anchored, candidates, detections, output, posenet

from tflgpu.compiler.pictures.outputs import Output, best_classes
from tflgpu.compiler.pictures.show import shown_in

SHOW = """async ([outputs, names, size, kind]) => {
  const {shownIn} = await import("./digits/demo/shown.js");
  const {drawOver} = await import("./digits/demo/drawing.js");
  const arrays = outputs.map((each) => ({...each, values: Float32Array.from(each.values)}));
  const shown = shownIn(arrays, names, size, kind);
  const context = new OffscreenCanvas(60, 40).getContext("2d");
  drawOver(shown, context);
  const drawn = context.getImageData(0, 0, context.canvas.width, context.canvas.height).data;
  return [shown.kind, shown.records, drawn.some((byte) => byte > 0)];
}"""
RANDOM = np.random.default_rng(7)
# Outputs, the names of classes, and the kind that is asked for.
SHOWN: dict[str, tuple[list[Output], tuple[str, ...], str]] = {
    "boxes": (detections(2, 0, 3, 1), ("cat", "dog", "owl"), ""),
    "anchors": (anchored(), ("face",), ""),
    "YOLO": ([candidates("yolov8", (129.0, 65.0))], (), ""),
    "YOLO, named": ([candidates("yolov5")], ("a", "b", "c"), ""),
    "YOLO, chosen": ([candidates("yolov8_rows")], (), "yolov8_rows"),
    "bodies": (posenet(True), (), ""),
    "bodies, in halves": (posenet(False), (), ""),
    "a body": (posenet(False)[:2], (), ""),
    "points": ([output(RANDOM.random((1, 1, 17, 3)))], (), ""),
    "several bodies": ([output(RANDOM.random((1, 6, 56)))], (), ""),
    "heatmaps": ([output(RANDOM.normal(size=(1, 9, 7, 14)))], (), "keypoints"),
    "scores": ([output(RANDOM.normal(size=(1, 9, 7, 3)))], ("a", "b", "c"), ""),
    "one score": ([output(RANDOM.normal(size=(1, 9, 7, 1)))], (), ""),
    "a map of classes": ([output(RANDOM.integers(0, 3, (1, 9, 7)))], (), ""),
    "an image": ([output(RANDOM.random((1, 65, 129, 3)))], (), ""),
    "classes": ([output(RANDOM.random((1, 40)))], ("a", "b"), "classes"),
}


@pytest.mark.parametrize("case", SHOWN)
def test_the_demo_finds_what_the_program_does(page: Any, case: str) -> None:
    outputs, names, kind = SHOWN[case]
    size = (128, 128) if case == "anchors" else (65, 129)
    given = [
        {"name": each.name, "shape": each.shape, "values": each.values.ravel().tolist()}
        for each in outputs
    ]
    found = page.evaluate(SHOW, [given, names, size, kind])
    if kind == "classes":
        wanted = [vars(each) for each in best_classes(outputs[0], names)]
    else:
        layout = kind if kind.startswith("yolo") else ""
        expected, shown = shown_in(outputs, names, "" if layout else kind, layout, size)
        wanted = [{k: v for k, v in each.items() if k != "name"} for each in shown.records()]
        assert found[0] == expected
    assert len(found[1]) == len(wanted) > 0
    for record, expected_record in zip(found[1], wanted, strict=True):
        assert record == pytest.approx(expected_record, abs=1e-6)
    assert found[2] == (kind != "classes")


def test_outputs_that_the_demo_cannot_show(page: Any) -> None:
    values = candidates("yolov5").values.ravel().tolist()
    several = {"name": "y", "shape": (1, 20, 8), "values": values}
    vector = {"name": "y", "shape": (2, 3, 1), "values": [1.0] * 6}
    said = [
        page.evaluate(f"(given) => message(() => ({SHOW})(given))", [[each], [], [65, 129], ""])
        for each in (several, vector)
    ]
    assert said == [
        "Error: y may have several layouts: choose yolov5 or yolov8_rows",
        "Error: it is not clear what the outputs show: choose it above; they are y [2,3,1]",
    ]


def test_the_page_shows_the_class_of_a_picture(browser: Any, address: str) -> None:
    page = browser.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(f"{address}/digits/index.html")
    page.wait_for_selector("body[data-ready=yes]", timeout=60_000)
    page.set_input_files("#file", DIGITS / "images/7.png")
    page.wait_for_function('document.getElementById("results").textContent', timeout=60_000)
    assert page.text_content("#results").startswith("class 7 ")
    assert problems == [] and page.text_content("#problem") == ""
    page.close()


def test_the_demo_shows_the_camera_until_it_is_stopped(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}/digits/index.html")
    page.wait_for_selector("body[data-ready=yes]", timeout=60_000)
    page.click("#camera")
    page.wait_for_function('document.getElementById("results").textContent', timeout=60_000)
    assert page.text_content("#results").startswith("class ")
    assert page.evaluate('document.getElementById("picture").width') >= 320
    assert page.text_content("#camera") == "Stop"
    page.click("#camera")
    assert page.text_content("#camera") == "Camera"
    page.click("#camera")
    page.wait_for_function('document.getElementById("camera").textContent === "Stop"')
    page.set_input_files("#file", DIGITS / "images/7.png")
    page.wait_for_function('document.getElementById("results").textContent.startsWith("class 7 ")')
    assert page.text_content("#camera") == "Camera"
    assert page.evaluate('document.getElementById("picture").width') < 320
    assert page.text_content("#problem") == ""
    page.close()


def test_the_demo_is_used_by_keyboard_and_read_aloud(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}/digits/index.html")
    page.wait_for_selector("body[data-ready=yes]", timeout=60_000)
    reached = []
    for _ in range(4):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id"))
    assert reached == ["file", "camera", "kind", "labels"]
    live = '["status", "results"].map((id) => document.getElementById(id).ariaLive ?? "polite")'
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    for said, read in (("Stop", "off"), ("Camera", "polite")):
        page.keyboard.press("Enter")
        page.wait_for_function(f'document.getElementById("camera").textContent === "{said}"')
        assert page.evaluate(live) == [read] * 2
        assert page.evaluate("document.activeElement.id") == "camera"
    page.set_input_files("#file", DIGITS / "images/7.png")
    page.wait_for_function('document.getElementById("results").textContent.startsWith("class 7 ")')
    assert page.get_by_role("img", name="The picture with what is found").is_visible()
    page.close()
