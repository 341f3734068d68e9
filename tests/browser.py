"""Pages opened in a real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devices import need_packages, need_programs

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PROGRAM = "chromium"
# Flags for WebGPU on Chromium's own software driver.
WEBGPU = (
    *("--headless=new", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"),
    *("--enable-features=Vulkan", "--disable-gpu-watchdog"),
)
# Flags for pages that only show text and drawings, for which such a driver takes longer.
PLAIN = ("--disable-gpu", "--disable-software-rasterizer")


@contextmanager
def chromium(*flags: str) -> Iterator[Browser]:
    """The browser, without a window; the running test is skipped or fails where there is none."""
    need_programs(PROGRAM)
    need_packages("playwright")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Its sandbox needs rights that a container's root does not have.
        browser = playwright.chromium.launch(
            executable_path=shutil.which(PROGRAM), args=["--no-sandbox", *flags]
        )
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, path: Path, fragment: str = "", **context: Any) -> Iterator[Page]:
    """A page once its scripts have run; it must request nothing and write nothing to the console.

    `context` has the keywords of Playwright's `new_context`, such as color_scheme.
    """
    requests: list[str] = []
    said: list[str] = []
    surroundings = browser.new_context(**context)
    page = surroundings.new_page()
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri() + fragment)
    page.wait_for_selector("body[data-ready=yes]", timeout=60_000)
    try:
        yield page
    finally:
        surroundings.close()
    assert requests == [path.as_uri()]
    assert said == []
