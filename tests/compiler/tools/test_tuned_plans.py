"""Tuned models: plans follow from a table, compute the same, and `compile --tune` makes them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases.convolutions import conv
from commands import as_json, invoke
from devices import Attached
from graphs import largest, model, x

import tflgpu
from tflgpu.compiler import Options, pipeline, tune
from tflgpu.compiler.cli.commands import tuning as command
from tflgpu.compiler.sizing.sizes import Sizes
from tflgpu.compiler.sizing.tuning_table import read_table
from tflgpu.compiler.sizing.work_groups import groups_worth_trying
from tflgpu.compiler.tools import tune as search
from tflgpu.runtime import load

PROFILE = "cpu_avx512"


def test_equal_entries_give_equal_plans(
    network: bytes, measured: list[Sizes], driver: str, tmp_path: Path
) -> None:
    path, copy = tmp_path / "table.json", tmp_path / "copy.json"
    tune(network, Options(device=PROFILE), path)
    table = json.loads(path.read_text())
    table["kernels"]["something else"] = next(iter(table["kernels"].values()))
    copy.write_text(json.dumps(table))
    plain, tuned, copied = (
        pipeline.build(network, Options(device=PROFILE, tuning=str(name) if name else ""))
        for name in ("", path, copy)
    )
    assert tuned == copied != plain
    assert json.loads(plain.plan.options)["tuning"] == ""
    assert len(json.loads(tuned.plan.options)["tuning"]) == 12
    dispatch = tuned.plan.dispatches[0]
    assert dispatch.why.startswith("tile 3 x 2: tuned, 6 accumulators")
    assert dispatch.why.endswith("; group: tuned")
    assert np.prod(tuned.plan.kernels[dispatch.kernel].group) == 4


def test_sizes_beyond_the_profile_are_ignored(
    network: bytes, measured: list[Sizes], driver: str, tmp_path: Path
) -> None:
    """A table may be from a larger device, or be hostile."""
    path = tmp_path / "table.json"
    tune(network, Options(device=PROFILE), path)
    table = json.loads(path.read_text())
    for entry in table["kernels"].values():
        entry["tile"] = [11, 9]
        entry["groups"] = [[65536, 65536, 65536]] * len(entry["groups"])
    path.write_text(json.dumps(table))
    plain, tuned = (
        pipeline.build(network, Options(device=PROFILE, tuning=name)).plan
        for name in ("", str(path))
    )
    assert tuned.kernels == plain.kernels and tuned.dispatches == plain.dispatches


def test_tuned_kernels_compute_the_same(
    attached: Attached, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sizes are compiled and run, but the last one counts as the fastest."""

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


def test_tuning_from_the_command_line(
    network: bytes, measured: list[Sizes], opencl_device: str, tmp_path: Path
) -> None:
    file = tmp_path / "model.tflite"
    file.write_bytes(network)
    arguments = ("compile", file, "-o", tmp_path / "cache", "--device", opencl_device)
    said = invoke(*arguments, "--tune").stderr.splitlines()
    first, second = said
    assert first.startswith("note: tuned 1 of 2, about 0 s left: ") and first.endswith(" ms")
    assert second.startswith("note: tuned 2 of 2: ") and second.endswith(" ms")
    value = as_json(*arguments, "--tune")
    assert value["tuned"] == 2
    (table,) = (tmp_path / "cache" / "tuning").glob("*.json")
    assert value["tuning"] == str(table)
    assert as_json(*arguments, "--tuning", table)["path"] == value["path"]
    assert as_json(*arguments)["path"] != value["path"]
    table.write_text(json.dumps({"device": "abacus", "kernels": {}}))
    told = invoke(*arguments, "--tuning", table)
    assert (
        f"warning: {table}, measured on abacus, has no sizes for kernels of this model; "
        "--tune searches for them"
    ) in told.stderr


def test_an_interrupted_search_says_how_to_continue(
    network: bytes, opencl_device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "tune", interrupted)
    file = tmp_path / "model.tflite"
    file.write_bytes(network)
    arguments = ("compile", file, "-o", tmp_path / "cache", "--device", opencl_device)
    ended = invoke(*arguments, "--tune", "--tuning", tmp_path / "table.json", code=130)
    assert ended.stderr.startswith(
        f"note: results are stored in {tmp_path / 'table.json'}; run the command again to continue"
    )
    assert ended.stderr.endswith("interrupted\n")
