"""`tflgpu cache`: listing, checking and emptying cache folders."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from commands import as_json, invoke
from plans import chain

from tflgpu.runtime import PlanError
from tflgpu.runtime.cache.binaries import BINARIES
from tflgpu.runtime.cache.folder import lock
from tflgpu.runtime.cache.housekeeping import entries, prune
from tflgpu.runtime.cache.private_files import make_private

OTHER = "cd" * 32


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Two variants of one model and one of another, last used in the order a, b, c."""
    folder = tmp_path / "cache"
    for age, (fingerprint, variant) in enumerate(
        [("ab" * 32, "a"), (OTHER, "b"), ("ab" * 32, "c")]
    ):
        used(chain(fingerprint).write(folder, variant), age)
    return folder


def used(folder: Path, day: int) -> None:
    """Make it look as if the variant had last been used on that day."""
    os.utime(folder / "weights.bin", (1e9 + 86400 * day, 1e9))


def names(cache: Path) -> list[str]:
    return [entry.folder.name for entry in entries(cache)]


def test_list_names_each_variant_with_its_size(cache: Path) -> None:
    size = sum(path.stat().st_size for path in (cache / OTHER).rglob("*") if path.is_file())
    found = as_json("cache", "list", cache)
    assert [Path(entry["path"]).name for entry in found["entries"]] == ["a", "b", "c"]
    assert found["bytes"] == 3 * size
    assert found["entries"][1] == {
        "path": str(cache / OTHER / "b"),
        "model": "chain.tflite",
        "fingerprint": OTHER,
        "bytes": size,
        "shapes": 1,
        "binaries": 0,
        "edited": [],
        "used": 1e9 + 86400,
    }
    text = invoke("cache", "list", cache).stdout
    assert "3 compiled" in text
    assert "chain.tflite" in text


def test_verify_names_a_damaged_file(cache: Path) -> None:
    assert as_json("cache", "verify", cache)["ok"]
    binaries = cache / OTHER / "b" / BINARIES
    make_private(binaries)
    (binaries / "x.bin").write_bytes(b"no binary")
    (cache / OTHER / "b" / "weights.bin").write_bytes(b"short")
    result = invoke("cache", "verify", cache, code=1)
    assert "weights.bin has 5 bytes instead of" in result.stderr
    assert "x.bin is damaged; the next load compiles the kernels again" in result.stderr
    found = as_json("cache", "verify", cache, code=1)
    assert not found["ok"]
    assert sorted(len(entry["problems"]) for entry in found["entries"]) == [0, 0, 1]


def test_what_is_no_cache_is_not_undamaged(cache: Path, tmp_path: Path) -> None:
    """Nor is the folder of one model. One that was emptied is."""
    (tmp_path / "notes").mkdir(mode=0o700)
    (tmp_path / "notes" / "a.txt").touch()
    for folder in (tmp_path / "notes", cache / OTHER):
        result = invoke("cache", "verify", folder, code=1)
        assert f"{folder} holds files, but no compiled model; give the" in result.stderr
    invoke("cache", "clear", cache)
    assert as_json("cache", "verify", cache) == {"ok": True, "entries": []}


def test_a_damaged_plan_is_listed(cache: Path) -> None:
    (cache / OTHER / "b" / "plan.tflgpu").write_bytes(b"nothing")
    assert [entry["model"] for entry in as_json("cache", "list", cache)["entries"]] == [
        "chain.tflite",
        "",
        "chain.tflite",
    ]


def test_prune_takes_the_longest_unused(cache: Path) -> None:
    size = entries(cache)[0].size
    assert as_json("cache", "prune", cache, "--max-size", 3 * size)["removed"] == []
    removed = as_json("cache", "prune", cache, "--max-size", 2 * size + 1)
    assert [Path(entry["path"]).name for entry in removed["removed"]] == ["a"]
    assert removed["bytes"] == 2 * size
    assert names(cache) == ["b", "c"]
    # A model without variants leaves no folder behind.
    as_json("cache", "prune", cache, "--max-size", f"{size}B")
    assert names(cache) == ["c"]
    assert not (cache / OTHER).exists()


def test_clear_leaves_other_files_alone(cache: Path) -> None:
    (cache / "notes.txt").write_text("mine")
    make_private(cache / "photos" / "holiday")
    as_json("cache", "clear", cache)
    assert sorted(path.name for path in cache.iterdir()) == ["notes.txt", "photos"]
    assert (cache / "photos" / "holiday").is_dir()


def test_what_is_being_written_stays(cache: Path) -> None:
    with lock(cache / OTHER / "b"):
        assert [entry.folder.name for entry in prune(cache, 0)] == ["a", "c"]
    assert names(cache) == ["b"]


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EEXIST])
def test_what_another_process_is_removing_is_left_to_it(
    cache: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Python's mkdir says that a folder exists which it found, and which then was no more."""

    def mkdir(path: Path, *_: object, **__: object) -> None:
        monkeypatch.undo()
        raise OSError(number, os.strerror(number), path)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    assert [entry.folder.name for entry in prune(cache, 0)] == ["b", "c"]


def test_leftovers_of_killed_processes_go(cache: Path) -> None:
    leftover = cache / OTHER / ".b.x1y2.tmp"
    make_private(leftover / "new")
    prune(cache, 1 << 40)
    assert not leftover.exists()
    assert names(cache) == ["a", "b", "c"]


def test_links_are_not_followed(cache: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (cache / OTHER).rename(outside)
    (cache / OTHER).symlink_to(outside)
    prune(cache, 0)
    assert (outside / "b" / "plan.tflgpu").exists()


@pytest.mark.parametrize("size", ["x", "-1", "5PB", ""])
def test_sizes_that_are_none(cache: Path, size: str) -> None:
    result = invoke("cache", "prune", cache, "--max-size", size, code=2)
    assert "is not a size such as 500M" in result.stderr


@pytest.mark.parametrize(
    ("size", "count"), [("1k", 1000), ("1KiB", 1024), ("0.5 M", 500000), ("1g", 10**9)]
)
def test_a_size_may_have_a_unit(
    cache: Path, monkeypatch: pytest.MonkeyPatch, size: str, count: int
) -> None:
    seen = []

    def record(cache: Path, size: int) -> list[Any]:
        seen.append(size)
        return []

    monkeypatch.setattr("tflgpu.compiler.cli.commands.caching.prune", record)
    as_json("cache", "prune", cache, "--max-size", size)
    assert seen == [count]


def test_a_folder_that_is_not_there_is_no_cache(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"there is no cache at .*nowhere; create one with"):
        entries(tmp_path / "nowhere")


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX systems")
def test_shared_folders_are_refused(cache: Path) -> None:
    cache.chmod(0o777)
    with pytest.raises(PlanError, match="can be written to by other users"):
        prune(cache, 0)
