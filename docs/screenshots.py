"""Makes the pictures of the documentation, from the model in samples/digits on an attached device.

    python docs/screenshots.py

Needs an OpenCL device, npm, and Chromium with Playwright: apt install chromium npm, pip install
playwright.
"""

import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import perfetto
from PIL import Image
from playwright.sync_api import sync_playwright
from terminal import page as page_of
from terminal import printed

HERE = Path(__file__).resolve().parent
MODEL = HERE.parent / "samples" / "digits" / "digits.tflite"
FOLDER = HERE / "pictures"

COLOURS = 96  # Colours of a picture, which keep it small.
DESK, PHONE = (1280, 720), (390, 720)  # Sizes of the window, in pixels.

TFLGPU = [sys.executable, "-m", "tflgpu"]


def report(folder: Path) -> Path:
    """The report of the model with two profiles: as it is, and with nothing fused."""
    cache, page = folder / "cache", folder / "report.html"
    _tflgpu("compile", MODEL, "-o", cache)
    now = _profile(folder / "fused.json")
    before = _profile(folder / "unfused.json", "--disable-pass", "fuse_elementwise")
    _tflgpu(
        *("inspect", cache, "--model", MODEL, "--html", page),
        *("--profile", now, "--compare", before),
    )
    return page


def _profile(path: Path, *options: str) -> Path:
    command = ("benchmark", MODEL, "--input", "random", "--no-litert", "--json", *options)
    path.write_text(_tflgpu(*command), encoding="utf-8")
    return path


def _tflgpu(*arguments: object) -> str:
    command = [*TFLGPU, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def terminal(folder: Path) -> str:
    """A page with the first commands of the documentation and what they print."""
    sample = folder / "samples" / "digits"
    sample.parent.mkdir()
    sample.symlink_to(MODEL.parent)
    model, cache = "samples/digits/digits.tflite", "cache/"
    picture = ("samples/digits/images/7.png", "--labels", "samples/digits/labels.txt")
    _tflgpu("edit", folder / cache, "softmax", folder / "softmax.cl")
    text = (folder / "softmax.cl").read_text(encoding="utf-8")
    (folder / "softmax.cl").write_text(text.replace("exp(x", "native_exp(x"), encoding="utf-8")
    commands = (
        ("run", model, *picture),
        ("edit", cache, "softmax", "softmax.cl", "--model", model),
    )
    shown = [
        (" ".join(("tflgpu", *command)), printed([*TFLGPU, *command], folder))
        for command in commands
    ]
    return page_of(shown)


def trace(browser: Any, folder: Path) -> None:
    """A picture of a trace in Perfetto: the run kernel by kernel, below the ruler of times."""
    file = folder / "trace.json"
    for _ in ("compile", "restore"):
        _tflgpu("run", MODEL, "random", "--trace", file)
    size = {"width": DESK[0], "height": 190}
    package = perfetto.fetch(folder)
    with perfetto.opened(browser, package, file.read_text(), viewport=size) as shown:
        kernels = "select ts, ts + dur as end from slice where category = 'device'"
        (row,) = shown.query(f"select min(ts) as first, max(end) as last from ({kernels})")
        start, end = row["first"] / 1e9, row["last"] / 1e9
        shown.show(start - (end - start) / 4, end + (end - start) / 20)
        draw(shown.page, "trace", "#timeline_main")


def draw(page: Any, name: str, part: str = "body") -> None:
    """A picture of what the browser shows of a part, once the graph has been drawn."""
    page.mouse.move(0, 0)
    page.wait_for_timeout(300)
    with Image.open(BytesIO(page.locator(part).screenshot())) as image:
        small = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    small.save(FOLDER / f"{name}.png", optimize=True)
    print(FOLDER / f"{name}.png")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        address = report(Path(folder)).as_uri()
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )

        def opened(size: tuple[int, int], scheme: Any, fragment: str = "") -> Any:
            page = browser.new_page(
                viewport={"width": size[0], "height": size[1]}, color_scheme=scheme
            )
            page.goto(address + fragment)
            page.wait_for_selector("body[data-ready=yes]")
            return page

        page = opened(DESK, "light", "#dispatch1")
        page.select_option("#heat", "time")
        draw(page, "report_graph")
        page = opened(DESK, "dark")
        page.get_by_role("tab", name="Kernels").click()
        page.get_by_role("button", name="time", exact=True).click()
        draw(page, "report_kernels")
        page = opened(DESK, "light")
        page.get_by_role("tab", name="Memory").click()
        draw(page, "report_memory")
        page = opened(PHONE, "dark")
        page.select_option("#heat", "time")
        draw(page, "report_phone")
        page = browser.new_page(viewport={"width": DESK[0], "height": DESK[1]})
        page.set_content(terminal(Path(folder)))
        page.add_style_tag(content="pre { display: inline-block; padding: 1em; margin: 0 }")
        draw(page, "terminal", "pre")
        trace(browser, Path(folder))
        browser.close()


if __name__ == "__main__":
    main()
