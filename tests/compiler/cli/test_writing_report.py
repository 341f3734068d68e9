"""The page of `tflgpu inspect --html`, as the command writes it."""

import json
import math
from pathlib import Path
from typing import Any

from commands import as_json, invoke
from described import described
from paths import DIGITS_MODEL
from profiles import profile_of

import tflgpu
from tflgpu.runtime.cache.variant import read_variant

PROFILE = "cpu_avx2"  # For compilations whose result is not run.


def compiled(cache: Path, **options: Any) -> Path:
    return tflgpu.compile(DIGITS_MODEL, cache, device=PROFILE, **options)


def test_the_page_is_written_and_named(tmp_path: Path) -> None:
    path, target = compiled(tmp_path / "cache"), tmp_path / "report.html"
    result = invoke("inspect", tmp_path / "cache", "--html", target)
    assert result.stdout.strip() == str(target)
    assert target.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    value = as_json("inspect", tmp_path / "cache", "--html", target)
    assert value == {"path": str(path), "html": str(target)}


def test_a_page_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    compiled(tmp_path / "cache")
    target = tmp_path / "missing" / "report.html"
    result = invoke("inspect", tmp_path / "cache", "--html", target, code=1)
    assert result.stderr.startswith(f"error: cannot write {target}")


def test_a_page_goes_to_what_is_no_file(tmp_path: Path) -> None:
    """A device such as /dev/stdout is written to, not replaced."""
    compiled(tmp_path / "cache")
    invoke("inspect", tmp_path / "cache", "--html", "/dev/null")
    assert Path("/dev/null").is_char_device()


def test_options_that_need_others(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    plan = read_variant(compiled(cache)).plan
    times = profile_of(plan, tmp_path / "times.json")
    target = tmp_path / "report.html"
    result = invoke("inspect", cache, "--html", target, "--source", "0", code=2)
    assert "--source cannot be used together with" in result.stderr
    assert "needs --html" in invoke("inspect", cache, "--profile", times, code=2).stderr
    compare = invoke("inspect", cache, "--html", target, "--compare", times, code=2)
    assert "needs --profile" in compare.stderr


def test_times_of_other_kernels_are_refused(tmp_path: Path) -> None:
    cache, target = tmp_path / "cache", tmp_path / "report.html"
    plan = read_variant(compiled(cache)).plan
    times = profile_of(plan, tmp_path / "times.json")
    other = compiled(tmp_path / "other", disable_passes=("fuse_elementwise",))
    result = invoke("inspect", other, "--html", target, "--profile", times, code=1)
    assert "the kernels of this variant" in result.stderr and not target.exists()
    # They can be compared with, since they compute the same operators.
    mine = profile_of(read_variant(other).plan, tmp_path / "mine.json")
    invoke("inspect", other, "--html", target, "--profile", mine, "--compare", times)
    assert target.exists()


def test_another_variant_is_compared_without_times(tmp_path: Path) -> None:
    now = compiled(tmp_path / "cache")
    before = compiled(tmp_path / "cache", disable_passes=("fuse_elementwise",))
    target = tmp_path / "report.html"
    invoke("inspect", now, "--html", target, "--compare", before)
    assert before.name in target.read_text()
    other = tflgpu.compile(described(DIGITS_MODEL), tmp_path / "other", device=PROFILE)
    wrong = invoke("inspect", now, "--html", target, "--compare", other, code=1)
    assert "was compiled from another model" in wrong.stderr


def test_numbers_that_cannot_be_shown(tmp_path: Path) -> None:
    cache, target = tmp_path / "cache", tmp_path / "report.html"
    times = profile_of(read_variant(compiled(cache)).plan, tmp_path / "times.json")
    value = json.loads(times.read_text())
    kernels = [{**value["kernels"][0], "ms": math.inf}, *value["kernels"][1:]]
    for change in ({"median_ms": math.nan}, {"median_ms": 10**400}, {"kernels": kernels}):
        times.write_text(json.dumps({**value, **change}))
        result = invoke("inspect", cache, "--html", target, "--profile", times, code=1)
        assert "is not a profile" in result.stderr and not target.exists()


def test_a_name_that_utf_8_cannot_hold(tmp_path: Path) -> None:
    cache, target = tmp_path / "cache", tmp_path / "report.html"
    times = profile_of(read_variant(compiled(cache)).plan, tmp_path / "times.json")
    times.write_text(json.dumps({**json.loads(times.read_text()), "device": "\ud800"}))
    invoke("inspect", cache, "--html", target, "--profile", times)
    assert '"device":"\\ud800"' in target.read_text(encoding="utf-8")


def test_files_that_are_no_profile(tmp_path: Path) -> None:
    cache, target = tmp_path / "cache", tmp_path / "report.html"
    compiled(cache)
    for content in ("", "[]", "{}", '{"model": 1}'):
        (tmp_path / "times.json").write_text(content)
        arguments = ("inspect", cache, "--html", target, "--profile", tmp_path / "times.json")
        assert "is not a profile" in invoke(*arguments, code=1).stderr
    missing = invoke("inspect", cache, "--html", target, "--profile", tmp_path / "none", code=1)
    assert "cannot read" in missing.stderr
