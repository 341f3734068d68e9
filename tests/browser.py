"""Pages opened in a real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devices import need_programs, unavailable

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PROGRAM = "chromium"


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser, without a window; the running test is skipped or fails where there is none."""
    need_programs(PROGRAM)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        unavailable("the Python package playwright is not installed")
    with sync_playwright() as playwright:
        # Its sandbox needs rights that a container's root does not have.
        browser = playwright.chromium.launch(
            executable_path=shutil.which(PROGRAM), args=["--no-sandbox"]
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
