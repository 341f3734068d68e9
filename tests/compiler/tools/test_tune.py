"""Tuning: what a search finds, and what it stores in its table and when."""

import json
import os
import sys
import time
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases.convolutions import conv
from commands import started
from graphs import call, model, w, x

from tflgpu.compiler import OptionError, Options, pipeline, tune
from tflgpu.compiler.cli.shell import INTERRUPTED
from tflgpu.compiler.sizing.sizes import Sizes
from tflgpu.compiler.sizing.tuning_table import Timing, read_table, write_table
from tflgpu.compiler.tools import tune as search

PROFILE = "cpu_avx512"


def kernels(path: Path) -> dict[str, Any]:
    """The entries of a table, by kernel."""
    found: dict[str, Any] = json.loads(path.read_text())["kernels"]
    return found


def test_the_search_finds_the_fastest(
    network: bytes, measured: list[Sizes], driver: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.json"
    tune(network, Options(device=PROFILE), path)
    (pointwise,) = (value for key, value in kernels(path).items() if "float32[37,1,1,7]" in key)
    assert pointwise["tile"] == [3, 2]
    assert [int(np.prod(group)) for group in pointwise["groups"]] == [4]
    assert pointwise["microseconds"] < pointwise["before"]
    # The profile's choice comes first, so that a search that gains nothing keeps it.
    chosen = pipeline.build(network, Options(device=PROFILE)).plan.dispatches[0]
    assert measured[0].tile is not None
    assert chosen.why.startswith(
        "tile {} x {}: smallest estimated time, ".format(*measured[0].tile)
    )


@pytest.mark.parametrize(("channels", "tile"), [(255, (7, 2)), (256, (14, 2))])
def test_the_first_tile_is_the_kernels_own(
    measured: list[Sizes], driver: str, tmp_path: Path, channels: int, tile: tuple[int, int]
) -> None:
    """After a deep depthwise convolution it has more accumulators than the profile allows."""
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
    assert dispatch.why.startswith("tile {} x {}: smallest estimated time, ".format(*tile))


def test_an_interrupted_search_continues_from_its_table(
    network: bytes, measured: list[Sizes], driver: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.json"

    def stop(stage: str, done: int, total: int) -> None:
        if (stage, done) == ("tune", 1):
            raise KeyboardInterrupt

    options = Options(device=PROFILE)
    with pytest.raises(KeyboardInterrupt):
        tune(network, options, path, stop)
    (first,) = kernels(path)
    measured.clear()
    tune(network, options, path)
    assert len(kernels(path)) == 2 and first in kernels(path)
    measured.clear()
    tune(network, options, path)
    assert measured == []


def test_concurrent_searches_keep_each_others_results(
    network: bytes, measured: list[Sizes], driver: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.json"
    other = Timing(Sizes(None, ((1, 1, 1),)), 1e-6, inf)

    def add(stage: str, done: int, total: int) -> None:
        if (stage, done) == ("tune", 1):
            table = read_table(path)
            table.kernels["of another model"] = other
            write_table(table, path)

    tune(network, Options(device=PROFILE), path, add)
    assert len(kernels(path)) == 3
    assert read_table(path).kernels["of another model"] == other
    assert kernels(path)["of another model"]["before"] is None


def test_sizes_that_the_device_rejects_are_not_stored(
    network: bytes, driver: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_measure", lambda subject, sizes: [inf] * len(sizes))
    tune(network, Options(device=PROFILE), tmp_path / "table.json")
    assert kernels(tmp_path / "table.json") == {}


def test_a_table_that_cannot_be_written_is_reported_before_the_search(
    network: bytes, driver: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_search", lambda subject: pytest.fail("it searched"))
    (tmp_path / "file").touch()
    with pytest.raises(OptionError, match="cannot write the tuning table"):
        tune(network, Options(device=PROFILE), tmp_path / "file" / "table.json")


def test_models_share_entries(
    network: bytes, measured: list[Sizes], driver: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.json"
    tune(network, Options(device=PROFILE), path)
    before = kernels(path)
    same = conv(x(1, 13, 11, 7), (37, 7), (1, 1))
    other = model({"scores": call("RELU", same)})
    tune(other.content, Options(device=PROFILE), path)
    # The result has another storage, so it has another implementation and an entry of its own.
    assert {key.split("(")[1] for key in kernels(path)} == {key.split("(")[1] for key in before}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not deliver SIGTERM to processes")
def test_a_search_that_is_killed_leaves_nothing_behind(
    network: bytes, opencl_device: str, tmp_path: Path
) -> None:
    file, scratch = tmp_path / "model.tflite", tmp_path / "scratch"
    file.write_bytes(network)
    scratch.mkdir()
    arguments = ("compile", file, "-o", tmp_path / "cache", "--device", opencl_device, "--tune")
    process = started(*arguments, env={**os.environ, "TMPDIR": str(scratch)})
    try:
        limit = time.monotonic() + 60
        # Not a file with which `tempfile` tries the folder, and which an interrupt may leave.
        while not any(scratch.glob("tflgpu-*")) and time.monotonic() < limit:
            time.sleep(0.01)
        assert process.poll() is None
        process.terminate()
        assert process.wait(60) == INTERRUPTED
    finally:
        process.kill()
    assert not list(scratch.iterdir())


def test_a_table_of_another_device_is_not_extended(
    network: bytes, opencl_device: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.json"
    path.write_text(json.dumps({"device": "abacus", "kernels": {}}))
    with pytest.raises(OptionError, match=r"is for abacus, not .*; tune into another file"):
        tune(network, Options(device=opencl_device), path)
    # Compiling with it is allowed.
    pipeline.build(network, Options(device=PROFILE, tuning=str(path)))
