"""Traces in Perfetto: it imports them whole, with the times and tracks that they have."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import chromium
from devices import unavailable
from perfetto import Perfetto, fetch, opened

from tflgpu.compiler.tools.trace.events import TRACKS, Event, Trace

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SLICES = """
select thread.name as track, slice.name, ts, dur, depth, process.name as title
from slice join thread_track on track_id = thread_track.id
join thread using (utid) join process using (upid)
order by tid, ts, depth
"""

EVENTS = (
    Event("compiler", "read", 0.0, 0.5),
    Event("session", "load", 0.5, 1.0),
    Event("session", "compile 2 kernels", 0.75, 0.25),
    Event("device", 'CONV_2D -> "größe" \\ /', 1.0, 0.000_001_234, {"grid": [1, 2, 3]}),
    Event("LiteRT", "SOFTMAX", 1.25, 0.125),
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return fetch(tmp_path_factory.mktemp("perfetto"))
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        unavailable(f"Perfetto cannot be fetched: {error}")


def imported(perfetto: Perfetto) -> list[tuple[str, str, int, int, int]]:
    return [tuple(row.values())[:5] for row in perfetto.query(SLICES)]


def test_perfetto_imports_a_trace(browser: Browser, package: Path) -> None:
    trace = Trace()
    trace.events = list(EVENTS)
    with opened(browser, package, trace.as_json("digits on a device")) as perfetto:
        wrong = "select name, value from stats where severity = 'error' and value > 0"
        assert perfetto.query(wrong) == []
        assert imported(perfetto) == [
            (event.track, event.name, round(event.start * 1e9), round(event.seconds * 1e9), depth)
            for event, depth in zip(EVENTS, (0, 0, 1, 0, 0), strict=True)
        ]
        titles = {row["title"] for row in perfetto.query(SLICES)}
        assert titles == {"digits on a device"}
        order = perfetto.query("select name from thread where tid in (1, 2, 3, 4) order by tid")
        assert tuple(row["name"] for row in order) == TRACKS
        (grid,) = perfetto.query("select count(*) as n from args where flat_key = 'args.grid'")
        assert grid["n"] == 3
