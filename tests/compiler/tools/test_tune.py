"""Tuning: what the search finds, and that plans follow from it."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases.convolutions import conv, window
from commands import as_json, invoke, started
from graphs import Model, call, largest, model, w, x

import tflgpu
from tflgpu.compiler import OptionError, Options, pipeline, tune
from tflgpu.compiler.cli import compiling
from tflgpu.compiler.schedule.tuning_table import Sizes, Timing, read_table, write_table
from tflgpu.compiler.schedule.work_groups import groups_worth_trying
from tflgpu.compiler.tools import tune as search
from tflgpu.runtime import load

PROFILE = "cpu_avx512"


def network() -> Model:
    """A convolution that can have many tiles, and one behind it with a large window."""
    first = call("RELU", conv(x(1, 13, 11, 7), (37, 7), (1, 1)))
    return model({"y": conv(first, (5, 37), **window("SAME", (2, 2)))})


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Sizes]:
    """The sizes that were measured, where the fastest tile is that of 3 x 2, in groups of 4."""
    seen: list[Sizes] = []

    def measure(subject: Any, sizes: Sequence[Sizes]) -> list[float]:
        seen.extend(sizes)
        return [
            1 + (size.tile != (3, 2)) + sum(np.prod(group) != 4 for group in size.groups)
            for size in sizes
        ]

    monkeypatch.setattr(search, "_measure", measure)
    monkeypatch.setattr(search, "BATCH", 1000)
    return seen


def kernels(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())["kernels"]
    return found


def test_the_search_finds_the_fastest(
    measured: list[Sizes], opencl_device: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.json"
    tune(network().content, Options(device=PROFILE), path)
    (pointwise,) = (value for key, value in kernels(path).items() if "float32[37,1,1,7]" in key)
    assert pointwise["tile"] == [3, 2]
    assert [int(np.prod(group)) for group in pointwise["groups"]] == [4]
    assert pointwise["microseconds"] < pointwise["before"]
    # The profile's choice comes first, so that a search that gains nothing keeps it.
    chosen = pipeline.build(network().content, Options(device=PROFILE)).plan.dispatches[0]
    assert measured[0].tile is not None
    assert chosen.why.startswith("tile {} x {}: least".format(*measured[0].tile))


@pytest.mark.parametrize(("channels", "tile"), [(255, (7, 2)), (256, (14, 2))])
def test_the_first_tile_is_the_kernels_own(
    measured: list[Sizes],
    opencl_device: str,
    tmp_path: Path,
    channels: int,
    tile: tuple[int, int],
) -> None:
    """Behind a deep depthwise convolution it has more sums than the profile's number."""
    steps = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "depth_multiplier": 1}
    deep = call(
        "DEPTHWISE_CONV_2D", x(1, 14, 14, channels), w(1, 3, 3, channels), w(channels), **steps
    )
    content = model({"y": conv(deep, (64, channels), (1, 1))}).content
    tune(content, Options(device=PROFILE), tmp_path / "table.json")
    assert next(sizes.tile for sizes in measured if sizes.tile) == tile
    (dispatch,) = (
        item
        for item in pipeline.build(content, Options(device=PROFILE)).plan.dispatches
        if "tile" in item.why
    )
    assert dispatch.why.startswith("tile {} x {}: least estimate".format(*tile))


def test_a_group_that_does_not_divide_the_rows(
    measured: list[Sizes], opencl_device: str, tmp_path: Path
) -> None:
    found, _ = largest(x(7, 40), 3)
    content, table = model({"y": found}).content, tmp_path / "table.json"
    tune(content, Options(device=PROFILE), table)
    folder = tflgpu.compile(content, tmp_path, device=PROFILE, tuning=str(table))
    values = np.random.default_rng(5).standard_normal((7, 40)).astype(np.float32)
    with load(folder, device=opencl_device) as session:
        (kernel,) = (kernel for kernel in session.plan.kernels if "top" in kernel.name)
        assert np.prod(kernel.group) == 4
        (result,) = session.run([values]).values()
    np.testing.assert_array_equal(result, -np.sort(-values)[:, :3])


def test_a_search_goes_on_where_it_was_ended(
    measured: list[Sizes], opencl_device: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.json"

    def stop(stage: str, done: int, total: int) -> None:
        if (stage, done) == ("tune", 1):
            raise KeyboardInterrupt

    options = Options(device=PROFILE)
    with pytest.raises(KeyboardInterrupt):
        tune(network().content, options, path, stop)
    (first,) = kernels(path)
    measured.clear()
    tune(network().content, options, path)
    assert len(kernels(path)) == 2 and first in kernels(path)
    measured.clear()
    # The second convolution is the same whatever the first one reads, so it is not tuned again.
    tune(network().content, options, path)
    assert measured == []


def test_a_plan_follows_from_the_table(
    measured: list[Sizes], opencl_device: str, tmp_path: Path
) -> None:
    small = network().content
    path, copy = tmp_path / "table.json", tmp_path / "copy.json"
    tune(small, Options(device=PROFILE), path)
    table = json.loads(path.read_text())
    table["kernels"]["something else"] = next(iter(table["kernels"].values()))
    copy.write_text(json.dumps(table))
    plain, tuned, copied = (
        pipeline.build(small, Options(device=PROFILE, tuning=str(name) if name else ""))
        for name in ("", path, copy)
    )
    assert tuned == copied != plain
    assert json.loads(plain.plan.options)["tuning"] == ""
    assert len(json.loads(tuned.plan.options)["tuning"]) == 12
    dispatch = tuned.plan.dispatches[0]
    assert dispatch.why.startswith("tile 3 x 2: tuned, 6 accumulators")
    assert dispatch.why.endswith("; group: tuned")
    assert np.prod(tuned.plan.kernels[dispatch.kernel].group) == 4


def test_sizes_that_are_beyond_the_profile_are_left_out(
    measured: list[Sizes], opencl_device: str, tmp_path: Path
) -> None:
    """A table may be of a larger device, or of nobody who wishes well."""
    path = tmp_path / "table.json"
    tune(network().content, Options(device=PROFILE), path)
    table = json.loads(path.read_text())
    for entry in table["kernels"].values():
        entry["tile"] = [11, 9]
        entry["groups"] = [[65536, 65536, 65536]] * len(entry["groups"])
    path.write_text(json.dumps(table))
    plain, tuned = (
        pipeline.build(network().content, Options(device=PROFILE, tuning=name)).plan
        for name in ("", str(path))
    )
    assert tuned.kernels == plain.kernels and tuned.dispatches == plain.dispatches


def test_searches_at_the_same_time_keep_what_the_other_found(
    measured: list[Sizes], opencl_device: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.json"
    other = Timing(Sizes(None, ((1, 1, 1),)), 1e-6, inf)

    def add(stage: str, done: int, total: int) -> None:
        if (stage, done) == ("tune", 1):
            table = read_table(path)
            table.kernels["of another model"] = other
            write_table(table, path)

    tune(network().content, Options(device=PROFILE), path, add)
    assert len(kernels(path)) == 3
    assert read_table(path).kernels["of another model"] == other
    assert kernels(path)["of another model"]["before"] is None


def test_sizes_that_the_device_refuses_are_not_kept(
    opencl_device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_measure", lambda subject, sizes: [inf] * len(sizes))
    tune(network().content, Options(device=PROFILE), tmp_path / "table.json")
    assert kernels(tmp_path / "table.json") == {}


def test_a_table_that_cannot_be_written_is_said_before_the_search(
    opencl_device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_search", lambda subject: pytest.fail("it searched"))
    (tmp_path / "file").touch()
    with pytest.raises(OptionError, match="cannot write the tuning table"):
        tune(network().content, Options(device=PROFILE), tmp_path / "file" / "table.json")


def test_models_share_what_they_have_in_common(
    measured: list[Sizes], opencl_device: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.json"
    tune(network().content, Options(device=PROFILE), path)
    before = kernels(path)
    same = conv(x(1, 13, 11, 7), (37, 7), (1, 1))
    other = model({"scores": call("RELU", same)})
    tune(other.content, Options(device=PROFILE), path)
    # Another storage of the result is another kernel.
    assert {key.split("(")[1] for key in kernels(path)} == {key.split("(")[1] for key in before}


def test_tuned_kernels_compute_the_same(
    attached: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Really compiled and run, but with the last of the sizes taken for the fastest."""

    def measure(subject: Any, sizes: Sequence[Sizes]) -> list[float]:
        assert all(0 < seconds < 10 for seconds in run(subject, sizes))
        return [1 / (1 + number) for number in range(len(sizes))]

    run = search._measure
    monkeypatch.setattr(search, "_measure", measure)
    monkeypatch.setattr(search, "REPEATS", 1)
    tiles = search._tiles
    monkeypatch.setattr(search, "_tiles", lambda subject: tiles(subject)[:2])
    monkeypatch.setattr(search, "groups_worth_trying", lambda *of: groups_worth_trying(*of)[:2])
    small = model({"y": conv(x(1, 3, 2, 5), (19, 5), (1, 1))})
    options = Options(target=attached.target, device=attached.device)
    path = tmp_path / "table.json"
    tune(small.content, options, path)
    (timing,) = read_table(path).kernels.values()
    why = pipeline.build(small.content, options).plan.dispatches[0].why
    assert timing.sizes.tile and "tile {} x {}:".format(*timing.sizes.tile) not in why
    image = np.random.default_rng(3).uniform(-1, 1, (1, 3, 2, 5)).astype(np.float32)
    results = []
    for tuning in ("", str(path)):
        folder = tflgpu.compile(
            small.content, tmp_path, target=options.target, device=options.device, tuning=tuning
        )
        with load(folder, device=attached.device) as session:
            results.append(session.run([image])["y"])
    np.testing.assert_array_equal(results[0], results[1])


def test_tuning_from_the_command_line(
    measured: list[Sizes], opencl_device: str, tmp_path: Path
) -> None:
    file = tmp_path / "model.tflite"
    file.write_bytes(network().content)
    arguments = ("compile", file, "-o", tmp_path / "cache", "--device", opencl_device)
    value = as_json(*arguments, "--tune")
    assert value["tuned"] == 2
    (table,) = (tmp_path / "cache" / "tuning").glob("*.json")
    assert value["tuning"] == str(table)
    assert as_json(*arguments, "--tuning", table)["path"] == value["path"]
    assert as_json(*arguments)["path"] != value["path"]
    table.write_text(json.dumps({"device": "abacus", "kernels": {}}))
    told = invoke(*arguments, "--tuning", table)
    assert f"warning: {table} has no sizes for kernels of this model" in told.stderr


def test_a_search_that_is_ended_says_how_to_go_on(
    opencl_device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(compiling, "tune", interrupted)
    file = tmp_path / "model.tflite"
    file.write_bytes(network().content)
    arguments = ("compile", file, "-o", tmp_path / "cache", "--device", opencl_device)
    ended = invoke(*arguments, "--tune", "--tuning", tmp_path / "table.json", code=1)
    assert ended.stderr.startswith(f"note: {tmp_path / 'table.json'} keeps what was found")
    assert ended.stderr.endswith("Aborted!\n")


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not told there")
def test_a_search_that_is_killed_leaves_nothing_behind(opencl_device: str, tmp_path: Path) -> None:
    file, scratch = tmp_path / "model.tflite", tmp_path / "scratch"
    file.write_bytes(network().content)
    scratch.mkdir()
    arguments = ("compile", file, "-o", tmp_path / "cache", "--device", opencl_device, "--tune")
    process = started(*arguments, env={**os.environ, "TMPDIR": str(scratch)})
    try:
        limit = time.monotonic() + 60
        while not any(scratch.iterdir()) and time.monotonic() < limit:
            time.sleep(0.01)
        assert process.poll() is None
        process.terminate()
        assert process.wait(60) == 1
    finally:
        process.kill()
    assert not list(scratch.iterdir())


def test_a_table_of_another_device_is_not_added_to(opencl_device: str, tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    path.write_text(json.dumps({"device": "abacus", "kernels": {}}))
    with pytest.raises(OptionError, match=r"is for abacus, not .*; tune into another file"):
        tune(network().content, Options(device=opencl_device), path)
    # Compiling with it is the user's choice.
    pipeline.build(network().content, Options(device=PROFILE, tuning=str(path)))
