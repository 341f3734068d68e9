"""`tflgpu inspect`: plans, kernels and variants."""

import json
import os
from pathlib import Path

import pytest
from commands import as_json, invoke
from paths import DIGITS_MODEL

import tflgpu
from tflgpu.compiler import Options, build
from tflgpu.runtime.cache import variant
from tflgpu.runtime.cache.variant import read_variant

PROFILE = "cpu_avx2"  # For compilations whose result is not run.


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The digits network compiled for a profile."""
    return tflgpu.compile(DIGITS_MODEL, tmp_path_factory.mktemp("cache"), device=PROFILE)


@pytest.mark.parametrize("with_model", [False, True])
def test_inspect_prints_every_dispatch_as_json(compiled: Path, with_model: bool) -> None:
    plan = build(DIGITS_MODEL, Options(device=PROFILE)).plan
    where = (compiled.parents[1], "--model", DIGITS_MODEL) if with_model else (compiled,)
    value = as_json("inspect", *where)
    assert (value["path"], value["profile"]) == (str(compiled), PROFILE)
    assert [item["label"] for item in value["dispatches"]] == [d.label for d in plan.dispatches]
    assert [item["grid"] for item in value["dispatches"]] == [list(d.grid) for d in plan.dispatches]
    assert sum(item["flops"] for item in value["dispatches"]) == sum(
        dispatch.flops for dispatch in plan.dispatches
    )
    tensors = {item["name"]: item for item in value["tensors"]}
    assert tensors["pool"]["shape"] == [1, 4, 4, 16] and tensors["pool"]["region"] == "arena"
    assert value["memory"]["planned"] == plan.memory.planned
    assert value["kernels"][0]["name"] == plan.kernels[0].name
    (merged,) = value["persistent"]
    assert merged == {"kernel": plan.kernels[-1].name, "first": 0, "count": len(plan.dispatches)}


def test_inspect_shows_tables(compiled: Path) -> None:
    text = invoke("inspect", compiled).stdout
    plan = build(DIGITS_MODEL, Options(device=PROFILE)).plan
    for dispatch in plan.dispatches:
        assert dispatch.label.rpartition(" -> ")[2] in text
    for tensor in plan.tensors:
        assert any(line.startswith(f"{tensor.name} ") for line in text.splitlines())
    last = len(plan.kernels) - 1
    assert f"0 to {len(plan.dispatches) - 1}      {last} {plan.kernels[last].name}" in text
    bars = [line.split()[-1] for line in text.splitlines() if "#" in line[-40:] and "." in line]
    assert bars and all(set(bar) <= set("#.") and len(bar) == 32 for bar in bars)


def test_inspect_prints_a_kernel(compiled: Path) -> None:
    value = as_json("inspect", compiled)
    kernel = next(item for item in value["kernels"] if "max_pool" in item["name"])
    source = (compiled / kernel["file"]).read_text()
    index = value["kernels"].index(kernel)
    for wanted in ("max_pool", index, kernel["name"], kernel["file"]):
        assert invoke("inspect", compiled, "--source", wanted).stdout == source
    assert as_json("inspect", compiled, "--source", index)["source"] == source
    several = invoke("inspect", compiled, "--source", "conv", code=2)
    assert "'conv' matches several kernels: " in several.stderr
    assert "matches no kernel" in invoke("inspect", compiled, "--source", 99, code=2).stderr


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_printed_kernel_ends_its_line(
    compiled: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    sources = dict.fromkeys(read_variant(compiled).sources, f"kernel{end}")
    monkeypatch.setattr(variant, "read_sources", lambda *_: sources)
    assert invoke("inspect", compiled, "--source", 0).stdout == "kernel\n"


def test_inspect_tells_of_other_variants(tmp_path: Path) -> None:
    first, last = (tflgpu.compile(DIGITS_MODEL, tmp_path, device=name) for name in ("gpu", PROFILE))
    os.utime(first / "plan.tflgpu", (1, 1))
    result = invoke("inspect", tmp_path, "--json")
    assert json.loads(result.stdout)["path"] == str(last)
    assert result.stderr.endswith(
        f"note: this is the variant compiled last; the others are\n  {first}\n"
    )


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("damage", [b"damage", b"tflgpu\r\n\xff\xff\0\0"])
def test_a_variant_that_cannot_be_read_is_left_out(tmp_path: Path, damage: bytes) -> None:
    """As `load` does: of another version of tflgpu, or damaged."""
    cache, kernel = tmp_path / "cache", tmp_path / "softmax.cl"
    good, bad = (tflgpu.compile(DIGITS_MODEL, cache, device=each) for each in (PROFILE, "gpu"))
    (bad / "plan.tflgpu").write_bytes(damage)
    for words in (
        ("inspect", cache),
        ("export", cache, "-o", tmp_path / "all", "--name", "digits"),
        ("export", cache, "-o", tmp_path / "one", "--name", "digits", "--device", PROFILE),
        ("edit", cache, "softmax", kernel),
    ):
        told = invoke(*words).stderr
        assert f"warning: {bad}" in told and "another variant of the model is used" in told
        assert "the others are" not in told
    assert kernel.read_text() in {path.read_text() for path in (good / "kernels").iterdir()}
