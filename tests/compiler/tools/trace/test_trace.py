"""Traces: the published format, what is in them, and that their times fit together."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from commands import as_json, invoke
from paths import DIGITS_MODEL, SEVEN

from tflgpu.compiler.telling import silent
from tflgpu.compiler.tools.trace.events import Event, Trace, by_type, timed

# Of a complete event in the Trace Event Format.
FIELDS = {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"}
# Microseconds by which the device's clock and the host's may disagree about a short time.
CLOCK = 1.0


def check_format(content: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The events of each thread, by its name; they must have the published form and be nested."""
    assert set(content) == {"traceEvents"}
    names: dict[int, str] = {}
    threads: dict[str, list[dict[str, Any]]] = {}
    for event in content["traceEvents"]:
        assert isinstance(event["name"], str) and event["name"] and event["pid"] == 1
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name")
            names[event["tid"]] = event["args"]["name"]
        else:
            assert event["ph"] == "X" and event.keys() == FIELDS
            assert event["ts"] >= 0 and event["dur"] >= 0
            threads.setdefault(names[event["tid"]], []).append(event)
    for events in threads.values():
        check_nesting(events)
    return threads


def check_nesting(events: list[dict[str, Any]]) -> None:
    """Each event lies after or inside those before it."""
    open_until: list[float] = []
    assert all(one["ts"] <= two["ts"] for one, two in pairwise(events))
    for event in events:
        while open_until and open_until[-1] <= event["ts"] + CLOCK:
            open_until.pop()
        end = event["ts"] + event["dur"]
        assert not open_until or end <= open_until[-1] + CLOCK
        open_until.append(end)


def named(events: list[dict[str, Any]], name: str) -> dict[str, Any]:
    (event,) = (event for event in events if event["name"] == name)
    return event


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))


def test_the_trace_of_a_run(opencl_device: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    command = ("run", DIGITS_MODEL, SEVEN, "--device", opencl_device, "--trace", path)
    value = as_json(*command)
    threads = check_format(json.loads(path.read_text()))
    stages = [event["name"] for event in threads["compiler"]]
    assert stages == ["read", "rewrite", "choose", "arrange", "render", "write"]
    session = threads["session"]
    compiled = threads["compiler"][-1]
    assert compiled["ts"] + compiled["dur"] <= named(session, "load")["ts"] + CLOCK
    run, profiled = named(session, "run"), named(session, "run again, one kernel at a time")
    inside = [e["name"] for e in session if run["ts"] < e["ts"] < run["ts"] + run["dur"]]
    assert inside == ["copy in", "enqueue", "copy out", "wait"]
    kernels = threads["device"]
    assert "CONV_2D" in kernels[0]["name"] and kernels[0]["args"]["kernel"].endswith(".cl")
    total = sum(event["dur"] for event in kernels)
    assert 0 < total <= profiled["dur"]
    assert sum(row["seconds"] for row in value["types"]) * 1e6 == pytest.approx(total, abs=0.1)
    assert sum(row["count"] for row in value["types"]) == len(kernels)
    assert sum(row["share"] for row in value["types"]) == pytest.approx(1)
    again = invoke(*command).stdout
    assert "Time by operator type" in again and again.endswith(f"{path}\n")
    assert "compiler" not in check_format(json.loads(path.read_text()))


@pytest.mark.usefixtures("free_exchange")
def test_the_trace_of_a_model_in_parts(opencl_device: str, tmp_path: Path) -> None:
    path, cache = tmp_path / "trace.json", tmp_path / "cache"
    invoke(
        *("compile", DIGITS_MODEL, "-o", cache, "--device", opencl_device),
        *("--fallback-op", "MAX_POOL_2D", "--fallback-op", "SOFTMAX"),
    )
    value = as_json("run", cache, "random", "--device", opencl_device, "--trace", path)
    threads = check_format(json.loads(path.read_text()))
    parts = threads["LiteRT"]
    assert [part["name"] for part in parts] == ["MAX_POOL_2D", "SOFTMAX"]
    assert [part["args"]["file"] for part in parts] == ["fallback/0.tflite", "fallback/1.tflite"]
    again = named(threads["session"], "run again, one part at a time")
    assert all(again["ts"] < e["ts"] < again["ts"] + again["dur"] for e in parts)
    assert {row["operators"] for row in value["types"] if row["place"] == "LiteRT"} == {
        *("MAX_POOL_2D", "SOFTMAX")
    }


def test_a_trace_of_a_cache_for_several_targets(opencl_device: str, tmp_path: Path) -> None:
    """The device is sought for every target, not only for that of the variant compiled last."""
    path, cache = tmp_path / "trace.json", tmp_path / "cache"
    invoke("compile", DIGITS_MODEL, "-o", cache, "--device", opencl_device)
    invoke("compile", DIGITS_MODEL, "-o", cache, "--device", "gpu", "--target", "glsl")
    as_json("run", cache, "random", "--device", opencl_device, "--trace", path)
    assert "CONV_2D" in check_format(json.loads(path.read_text()))["device"][0]["name"]


def test_a_stage_ends_where_the_next_begins() -> None:
    trace = Trace()
    show = trace.stages(silent)
    for stage in ("read", "rewrite", "rewrite", "choose"):
        show(stage, 0, 1)
    trace.end_stage()
    trace.end_stage()
    assert [event.name for event in trace.events] == ["read", "rewrite", "choose"]
    assert all(one.end <= two.start + 1e-6 for one, two in pairwise(trace.events))


def test_the_time_of_operator_types() -> None:
    events = [
        Event("session", "run", 0, 9),
        Event("device", "CONV_2D + tflgpu.requantize -> a", 0, 2),
        Event("device", "CONV_2D -> b", 2, 1),
        Event("device", "tflgpu.softmax_integers -> c", 3, 1),
        Event("LiteRT", "A + B + C + D + E + F", 4, 4),
    ]
    rows = [(row.operators, row.count, row.seconds, row.share) for row in by_type(timed(events))]
    assert rows == [
        ("A + B + C + D + 2 more", 1, 4, 0.5),
        ("CONV_2D", 2, 3, 0.375),
        ("tflgpu.softmax_integers", 1, 1, 0.125),
    ]


def test_another_suffix_is_refused_before_the_work() -> None:
    wrong = invoke("run", DIGITS_MODEL, "random", "--trace", "trace.txt", code=2)
    assert "trace.txt must end in .json" in wrong.stderr
