"""The report in a real browser: what a reader finds, clicks and sees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import opened
from commands import invoke
from graphs import call, model, w, x
from graphs.hosted import crossing
from graphs.large import large_model
from paths import DIGITS_MODEL
from profiles import profile_of

import tflgpu
from tflgpu.compiler.report.contents import contents
from tflgpu.compiler.report.page import page as page_of
from tflgpu.compiler.tools.machine_code import MachineCode
from tflgpu.runtime.cache.variant import Variant, read_variant

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PROFILE = "cpu_avx2"  # For compilations whose result is not run.
LARGEST = 3_000_000  # Bytes of the report of a network with 250 kernels.


def report_of(
    model: Path, folder: Path, *arguments: object, **options: Any
) -> tuple[Path, Variant]:
    """The report of a model, compiled into a cache in `folder`, and what it was compiled to."""
    variant = read_variant(tflgpu.compile(model, folder / "cache", device=PROFILE, **options))
    path = folder / "report.html"
    invoke("inspect", folder / "cache", "--model", model, "--html", path, *arguments)
    return path, variant


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Variant]:
    return report_of(DIGITS_MODEL, tmp_path_factory.mktemp("digits"))


def drawn(page: Page) -> list[str]:
    """The names of the nodes that are drawn."""
    found = page.evaluate("() => graphView.drawn.nodes().map((node) => node.id())")
    return list(found)


def beside_the_window(page: Page) -> list[str]:
    """The tabs that are not whole in sight."""
    width = page.evaluate("innerWidth")
    found = [(tab.inner_text(), tab.bounding_box()) for tab in page.get_by_role("tab").all()]
    return [name for name, box in found if not 0 <= box["x"] <= width - box["width"]]


def marked(page: Page) -> list[str]:
    """The names of the nodes that are drawn as found or selected, not dimmed."""
    found = page.evaluate("() => graphView.drawn.nodes().not('.dimmed').map((node) => node.id())")
    return list(found)


def faults(page: Page) -> list[tuple[str, list[str]]]:
    """What axe-core objects to in the view that is open: each rule, and where it is broken."""
    found = Axe().run(page).response["violations"]
    return [(item["id"], [node["html"] for node in item["nodes"]]) for item in found]


def test_the_graph_is_drawn(digits: tuple[Path, Variant], browser: Browser) -> None:
    path, variant = digits
    with opened(browser, path) as page:
        nodes = drawn(page)
        count = len(variant.plan.dispatches)
        assert [name for name in nodes if name.startswith("dispatch")] == [
            f"dispatch{number}" for number in range(count)
        ]
        assert "input0" in nodes and "output0" in nodes
        edges = page.evaluate("() => graphView.drawn.edges().map((edge) => edge.data('label'))")
        assert "1\u00d728\u00d728\u00d71" in edges or len(edges) >= count
        page.get_by_role("button", name="Model file").click()
        assert "operator0" in drawn(page) and "dispatch0" not in drawn(page)


def test_a_click_shows_the_source(digits: tuple[Path, Variant], browser: Browser) -> None:
    path, variant = digits
    kernel = variant.plan.kernels[variant.plan.dispatches[1].kernel]
    with opened(browser, path) as page:
        # A click into the drawing, where the node lies.
        place = page.evaluate(
            "() => { const node = graphView.drawn.getElementById('dispatch1');"
            " graphView.drawn.center(node); return node.renderedPosition(); }"
        )
        page.locator("#drawing").click(position=place)
        shown = page.locator("#details pre.source").text_content()
        assert shown is not None
        assert shown.rstrip() == variant.sources[kernel.file].rstrip()
        assert variant.plan.dispatches[1].why in page.locator("#details").inner_text()
        assert "computes these operators" in page.locator("#details").inner_text()
        assert page.url.endswith("#dispatch1")
        page.keyboard.press("Escape")
        assert page.locator("#details").is_hidden()
    with opened(browser, path, "#dispatch1") as page:
        assert page.locator("#details pre.source").is_visible()


def test_an_address_that_ends_in_no_name(digits: tuple[Path, Variant], browser: Browser) -> None:
    for fragment in ("#%", "#nothing"):
        with opened(browser, digits[0], fragment) as page:
            assert "dispatch0" in drawn(page) and page.locator("#details").is_hidden()


def test_the_search_finds(digits: tuple[Path, Variant], browser: Browser) -> None:
    path, variant = digits
    wanted = [
        f"dispatch{number}"
        for number, dispatch in enumerate(variant.plan.dispatches)
        if "SOFTMAX" in dispatch.label
    ]
    with opened(browser, path) as page:
        page.get_by_role("searchbox", name="Search").fill("softmax")
        assert wanted and marked(page) == wanted
        assert page.locator("#outline li:visible").count() == len(wanted)
        assert page.locator("#found").inner_text() == f"{len(wanted)} found"
        page.keyboard.press("Enter")
        assert "SOFTMAX" in page.locator("#details h2").inner_text()


def test_the_search_finds_shapes_and_what_is_fused(tmp_path: Path, browser: Browser) -> None:
    """A MUL that is folded into weights is found in the kernel of the convolution."""
    window = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    dilation = {"dilation_h_factor": 1, "dilation_w_factor": 1}
    layer = call("CONV_2D", x(1, 5, 7, 4), w(8, 1, 1, 4), w(8), **window, **dilation)
    (tmp_path / "net.tflite").write_bytes(model({"y": call("MUL", layer, w(8))}).content)
    path, variant = report_of(tmp_path / "net.tflite", tmp_path)
    assert [dispatch.label for dispatch in variant.plan.dispatches] == ["CONV_2D -> y"]
    with opened(browser, path) as page:
        search = page.get_by_role("searchbox", name="Search")
        for wanted in ("mul", "1x5x7x8", "1,5,7,4"):
            search.fill(wanted)
            assert "dispatch0" in marked(page), wanted


def test_every_control_is_in_sight(digits: tuple[Path, Variant], browser: Browser) -> None:
    """On a phone, and in a small window beside the details."""
    reached = "([x, y, id]) => document.elementFromPoint(x, y)?.closest('button')?.id === id"
    for width, height in ((360, 740), (390, 780), (800, 600), (900, 700)):
        with opened(browser, digits[0], viewport={"width": width, "height": height}) as page:
            assert beside_the_window(page) == []
            if width > 760:
                page.locator("#outline li:visible").nth(1).click()
                assert page.locator("#details").is_visible()
            for name in ("smaller", "larger", "fit"):
                box = page.locator(f"#{name}").bounding_box()
                middle = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
                assert page.evaluate(reached, [*middle, name]), (width, name)


def test_the_list_is_walked_with_the_keyboard(
    digits: tuple[Path, Variant], browser: Browser
) -> None:
    path, _ = digits
    with opened(browser, path) as page:
        page.locator("#outline").focus()
        for _ in range(3):
            page.keyboard.press("ArrowDown")
        active = page.locator("#outline").get_attribute("aria-activedescendant")
        assert active == "item-dispatch1"
        assert page.locator(f"#{active}").get_attribute("aria-selected") == "true"
        page.keyboard.press("End")
        page.wait_for_url("**#output0")
        page.keyboard.press("Home")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        focused = "() => document.activeElement.id"
        assert page.evaluate(focused) == "details"
        page.locator("#details").get_by_role("button", name="#0 CONV_2D").press("Enter")
        page.wait_for_url("**#operator0")
        assert page.evaluate(focused) == "details"
        page.keyboard.press("Escape")
        assert page.evaluate(focused) == "outline"


def test_the_table_sorts_and_filters(digits: tuple[Path, Variant], browser: Browser) -> None:
    path, variant = digits
    flops = [dispatch.flops for dispatch in variant.plan.dispatches]
    with opened(browser, path) as page:
        page.get_by_role("tab", name="Kernels").click()
        rows = page.locator("#kernels tbody tr")
        names = "rows => rows.map((row) => Number(row.dataset.id.slice(8)))"
        page.get_by_role("button", name="operations").click()
        order = rows.evaluate_all(names)
        assert [flops[number] for number in order] == sorted(flops, reverse=True)
        header = page.get_by_role("columnheader", name="operations")
        assert header.get_attribute("aria-sort") == "descending"
        page.get_by_role("button", name="operations").click()
        assert [flops[number] for number in rows.evaluate_all(names)] == sorted(flops)
        page.get_by_role("searchbox", name="Filter kernels").fill("softmax")
        assert page.locator("#kernels tbody tr:visible").count() == 1
        page.locator("#kernels tbody tr:visible").get_by_role("button").click()
        assert "SOFTMAX" in page.locator("#details h2").inner_text()


def test_the_memory_map(digits: tuple[Path, Variant], browser: Browser) -> None:
    path, variant = digits
    arena = [t for t in variant.plan.tensors if t.region.name == "ARENA" and t.size]
    with opened(browser, path) as page:
        page.get_by_role("tab", name="Memory").click()
        boxes = page.locator("#memory rect.tensor")
        assert boxes.count() == len(arena) > 3
        places = boxes.evaluate_all(
            "boxes => boxes.map((box) => ({ y: box.y.baseVal.value, "
            "width: box.width.baseVal.value, height: box.height.baseVal.value }))"
        )
        assert all(box["width"] > 0 and box["height"] > 0 and box["y"] >= 0 for box in places)
        page.get_by_role("slider", name="Dispatch").fill("2")
        living = {t.name for t in arena if t.first <= 2 <= t.last}
        listed = page.locator("#memory ul.alive button").all_inner_texts()
        assert set(listed) == living
        boxes.first.click()
        assert page.locator("#details h2").inner_text() in {t.name for t in arena}


def test_rewrites_are_grouped(digits: tuple[Path, Variant], browser: Browser) -> None:
    path, variant = digits
    events = json.loads(variant.plan.passes)
    groups = {(event["pass"], event["reason"], event["applied"]) for event in events}
    with opened(browser, path) as page:
        page.get_by_role("tab", name="Rewrites").click()
        assert page.locator("#rewrites details.group").count() == len(groups) > 0
        counts = page.locator("#rewrites .count").all_inner_texts()
        assert sum(map(int, counts)) == len(events)


def test_dark_and_narrow(digits: tuple[Path, Variant], browser: Browser) -> None:
    path, _ = digits
    with opened(browser, path, color_scheme="dark", viewport={"width": 390, "height": 780}) as page:
        background = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        assert background == "rgb(20, 23, 27)"
        for tab in page.get_by_role("tab").all():
            tab.click()
            overflow = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
            assert overflow <= 0
        page.get_by_role("tab", name="Graph").click()
        assert page.locator("#drawing").bounding_box()["height"] > 300


def test_times_and_a_comparison(
    digits: tuple[Path, Variant], tmp_path: Path, browser: Browser
) -> None:
    """Every kernel takes half the time of before."""
    variant = digits[1]
    now = profile_of(variant.plan, tmp_path / "now.json")
    before = profile_of(variant.plan, tmp_path / "before.json", 2.0)
    path = tmp_path / "report.html"
    measured = ("--profile", now, "--compare", before)
    invoke("inspect", variant.folder, "--html", path, *measured)
    count = len(variant.plan.dispatches)
    with opened(browser, path) as page:
        choices = page.locator("#heat option").all_inner_texts()
        assert choices[:3] == ["change of time", "time", "share of roofline"]
        page.select_option("#heat", "time")
        colours = page.evaluate(
            "() => graphView.drawn.nodes('.dispatch').map((node) => node.style('background-color'))"
        )
        # The longer a kernel takes, the less blue its node is.
        blue = [int(colour.removesuffix(")").split(",")[-1]) for colour in colours]
        assert len(blue) == count and blue == sorted(blue, reverse=True) and blue[0] > blue[-1]
        page.get_by_role("tab", name="Kernels").click()
        page.get_by_role("button", name="time", exact=True).click()
        slowest = page.locator("#kernels tbody tr").first
        assert slowest.get_attribute("data-id") == f"dispatch{count - 1}"
        assert f"{count}.00 ms" in slowest.inner_text()
        page.get_by_role("tab", name="Compared").click()
        text = page.locator("#comparison").inner_text()
        assert "0.50" in text and "before.json" in text
        assert faults(page) == []
        gains = page.locator("#comparison tbody tr").first
        assert f"\u2212{count}.00 ms" in gains.inner_text()


def test_changes_to_another_variant_come_first(
    digits: tuple[Path, Variant], tmp_path: Path, browser: Browser
) -> None:
    """One in which nothing is fused: what has changed comes first, and its row selects a kernel."""
    variant, path = digits[1], tmp_path / "report.html"
    options: Any = {"device": PROFILE, "disable_passes": ("fuse_elementwise",)}
    before = tflgpu.compile(DIGITS_MODEL, tmp_path / "cache", **options)
    invoke("inspect", variant.folder, "--html", path, "--compare", before)
    with opened(browser, path, viewport={"width": 360, "height": 740}) as page:
        assert beside_the_window(page) == []
    with opened(browser, path) as page:
        page.get_by_role("tab", name="Changes").click()
        first = page.locator("#changes table").nth(1).locator("tbody tr").first
        assert "changed" in first.inner_text()
        launches = page.locator("#changes table").first.locator("tbody tr").first
        assert "launches" in launches.inner_text()
        assert faults(page) == []
        first.get_by_role("button").click()
        assert page.locator("#details").is_visible()


def test_registers_of_a_kernel_are_shown(
    digits: tuple[Path, Variant], tmp_path: Path, browser: Browser
) -> None:
    variant = digits[1]
    code = {
        kernel.name: MachineCode(20 + number, 0, 32, 8, 100, 1, 2, 3, 4, f"s_endpgm {number}")
        for number, kernel in enumerate(variant.plan.kernels)
    }
    path = tmp_path / "report.html"
    path.write_text(page_of(contents(variant, machine_code=code)), encoding="utf-8")
    with opened(browser, path, "#dispatch1") as page:
        page.select_option("#heat", "registers")
        registers = 20 + variant.plan.dispatches[1].kernel
        label = page.evaluate("() => graphView.drawn.getElementById('dispatch1').data('label')")
        assert label.endswith(f" {registers}")
        shown = page.locator("#details").text_content()
        assert shown is not None and "multiply adds" in shown
        assert f"s_endpgm {registers - 20}" in shown


def test_a_report_without_the_model(tmp_path: Path, browser: Browser) -> None:
    variant = read_variant(tflgpu.compile(DIGITS_MODEL, tmp_path / "cache", device=PROFILE))
    path = tmp_path / "report.html"
    invoke("inspect", variant.folder, "--html", path)
    with opened(browser, path) as page:
        page.get_by_role("button", name="Model file").click()
        assert "--model MODEL.tflite" in page.locator("#absent").inner_text()
        page.get_by_role("tab", name="Kernels").click()
        page.locator("#kernels tbody tr").first.get_by_role("button").click()
        page.get_by_role("tab", name="Graph").click()
        assert "dispatch0" in drawn(page) and page.locator("#absent").is_hidden()


@pytest.mark.usefixtures("free_exchange")
def test_a_model_in_parts(tmp_path: Path, browser: Browser) -> None:
    """Parts on LiteRT are nodes, with the reasons why they run there."""
    model = tmp_path / "crossing.tflite"
    model.write_bytes(crossing())
    with pytest.warns(tflgpu.FallbackWarning):
        path, variant = report_of(model, tmp_path, fallback_ops=("COS", "CONCATENATION"))
    first, second = variant.plan.parts
    with opened(browser, path) as page:
        assert {"part0", "part1"} < set(drawn(page))
        edges = "() => graphView.drawn.edges().map((edge) => edge.id() && edge.data())"
        linked = {(edge["source"], edge["target"]) for edge in page.evaluate(edges)}
        assert {target for _, target in linked} >= {"part0", "part1", "output0", "output1"}
        assert {source for source, _ in linked} >= {"part0", "part1", "input0"}
        page.get_by_role("searchbox", name="Search").fill("cos")
        page.keyboard.press("Enter")
        text = page.locator("#details").inner_text()
        assert text.startswith("LiteRT: COS") and first.file in text
        assert "operator 3 COS: the option fallback_ops names it" in text
        assert "Why it does not run on the device" in text
        page.get_by_role("tab", name="Kernels").click()
        assert second.file in page.locator("#kernels tbody tr[data-id=part1]").inner_text()


@pytest.mark.slow
def test_a_network_of_many_kernels(tmp_path: Path, browser: Browser) -> None:
    """Its report is small enough to be sent, and its blocks open and close."""
    model = tmp_path / "large.tflite"
    model.write_bytes(large_model(600))
    path, variant = report_of(model, tmp_path)
    assert len(variant.plan.dispatches) >= 250
    assert path.stat().st_size < LARGEST
    with opened(browser, path) as page:
        shown = drawn(page)
        page.get_by_role("button", name="Expand blocks").click()
        assert len(drawn(page)) > len(variant.plan.dispatches) > len(shown)
        page.get_by_role("button", name="Collapse blocks").click()
        assert drawn(page) == shown
        block = next(name for name in shown if name.startswith("block"))
        page.locator(f"#item-{block}").click()
        page.locator("#details").get_by_role("button", name="Expand").click()
        assert len(drawn(page)) > len(shown)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["mobilenet_v2/mobilenet_v2_1.0_224_quant.tflite", "yolo/yolox_nano_with_post_float32.tflite"],
)
def test_repeated_parts_of_a_network_are_blocks(
    name: str, models: Path, tmp_path: Path, browser: Browser
) -> None:
    model = models / "networks" / name
    path, variant = report_of(model, tmp_path)
    assert path.stat().st_size < LARGEST
    with opened(browser, path) as page:
        shown = drawn(page)
        assert any(node.startswith("block") for node in shown)
        page.get_by_role("button", name="Expand blocks").click()
        nodes = {node for node in drawn(page) if node.startswith("dispatch")}
        assert nodes == {f"dispatch{number}" for number in range(len(variant.plan.dispatches))}
        # Everything is connected: no node is without an edge.
        alone = "() => graphView.drawn.nodes().filter((node) => !node.degree()).map((n) => n.id())"
        assert page.evaluate(alone) == []
        page.get_by_role("searchbox", name="Search").fill("depthwise")
        assert 0 < len(marked(page)) < len(nodes)
        page.get_by_role("button", name="Model file").click()
        assert len(drawn(page)) > 10 and not nodes & set(drawn(page))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_fault(digits: tuple[Path, Variant], browser: Browser, scheme: str) -> None:
    """An audit of names, roles and contrasts: each view, with the details of a kernel beside it."""
    with opened(browser, digits[0], "#dispatch1", color_scheme=scheme) as page:
        assert page.locator("#details").is_visible()
        for tab in page.get_by_role("tab").all():
            tab.click()
            assert (tab.inner_text(), faults(page)) == (tab.inner_text(), [])
