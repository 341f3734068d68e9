"""The cache folder is written whole and private, by however many processes."""

import multiprocessing
import os
import stat
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from plans import chain
from plans.processes import write_and_read
from platforms import posix
from stored import FILES

from tflgpu.compiler.emit import folder as packing
from tflgpu.runtime import CacheWarning, PlanError
from tflgpu.runtime.cache.folder import find_variants
from tflgpu.runtime.cache.private_files import make_private
from tflgpu.runtime.cache.variant import read_plan, read_variant


def test_a_variant_has_these_files(cache: Path) -> None:
    parts = chain()
    folder = parts.write(cache)
    assert folder == cache / ("ab" * 32) / "variant"
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert files == sorted(FILES)
    variant = read_variant(folder)
    assert variant.plan == parts.plan == read_plan(folder)
    assert variant.sources == parts.sources
    assert bytes(variant.weights.content) == parts.weights
    assert variant.folder == folder


@posix
def test_what_is_written_is_private(cache: Path) -> None:
    before = os.umask(0)
    try:
        folder = chain().write(cache)
    finally:
        os.umask(before)
    for path in (cache, *cache.rglob("*")):
        expected = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == expected, path
    assert (folder / "kernels").is_dir()


@pytest.mark.parametrize("kind", ["array", "bytearray", "memoryview"])
def test_kinds_of_weights(cache: Path, kind: str) -> None:
    parts = chain()
    weights = {
        "array": np.frombuffer(parts.weights, np.float32),
        "bytearray": bytearray(parts.weights),
        "memoryview": memoryview(parts.weights),
    }[kind]
    folder = packing.pack(parts.plan, parts.sources, weights, cache / ("ab" * 32) / "v")
    assert bytes(read_variant(folder).weights.content) == parts.weights


def test_valid_folder_is_left_alone(cache: Path) -> None:
    folder = chain().write(cache)
    before = {path: path.stat().st_ino for path in folder.rglob("*")}
    assert chain().write(cache) == folder
    assert {path: path.stat().st_ino for path in folder.rglob("*")} == before


@pytest.mark.parametrize("file", FILES)
def test_damaged_folder_is_replaced(cache: Path, file: str) -> None:
    folder = chain().write(cache)
    (folder / file).write_bytes(b"damaged")
    with pytest.raises(PlanError):
        read_variant(folder)
    kernel = file.startswith("kernels/")
    with pytest.warns(CacheWarning, match="changed by hand") if kernel else nullcontext():
        assert chain().write(cache) == folder
    assert read_variant(folder).plan == chain().plan
    aside = {path.name: path.read_bytes() for path in folder.glob("changed/*")}
    assert aside == ({Path(file).name: b"damaged"} if kernel else {})
    assert [path.name for path in folder.parent.glob(".*.tmp")] == []


def test_other_plan_replaces(cache: Path) -> None:
    chain().write(cache)
    folder = chain().replacing(compiler="0.2.0").write(cache)
    assert read_variant(folder).plan.compiler == "0.2.0"


def test_file_in_the_place_of_the_folder(cache: Path) -> None:
    folder = chain().write(cache)
    other = folder.with_name("other")
    other.write_text("not a folder")
    assert chain().write(cache, "other") == other
    assert read_variant(other).plan == chain().plan


def test_leftovers_go(cache: Path) -> None:
    """What a process that was killed while writing has left is removed by the next."""
    leftover = cache / ("ab" * 32) / ".variant.x1.tmp"
    make_private(leftover / "new")
    chain().write(cache)
    assert not leftover.exists()


def test_folders_that_cannot_be_made(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PlanError, match=r"cannot create the folder .*b: .*embedded null"):
        make_private(cache / "a\0b")

    def missing(*arguments: object, **options: object) -> None:
        raise FileNotFoundError(2, "No such file or directory")

    cache.mkdir()
    monkeypatch.setattr(Path, "mkdir", missing)  # as in /proc
    message = f"folder {cache / 'x' / 'y'}: {cache} takes no new folders, .*; choose another folder"
    with pytest.raises(PlanError, match=message):
        make_private(cache / "x" / "y")


@pytest.mark.parametrize("step", ["fsync", "rename"])
def test_nothing_half_written(cache: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def fail(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(PlanError, match=r"cannot write .*variant: No space left on device"):
        chain().write(cache)
    monkeypatch.undo()
    assert [path.name for path in (cache / ("ab" * 32)).iterdir() if path.is_dir()] == []
    with pytest.raises(PlanError, match="holds no compiled model"):
        find_variants(cache)


@pytest.mark.parametrize("part", ["source", "weights", "size", "extra"])
def test_parts_that_do_not_fit(cache: Path, part: str) -> None:
    parts = chain()
    sources, weights = dict(parts.sources), parts.weights
    if part == "source":
        sources[FILES[2]] += "\n"
    elif part == "extra":
        sources["../evil.cl"] = "x"
    else:
        weights = weights[:-1] if part == "size" else weights[:-1] + b"x"
    with pytest.raises(PlanError, match=r"does not describe|bytes, the plan"):
        packing.pack(parts.plan, sources, weights, cache / ("ab" * 32) / "v")
    assert not cache.exists()


def test_two_processes_write_one_variant(cache: Path) -> None:
    context = multiprocessing.get_context("spawn")
    start = context.Event()
    processes = [context.Process(target=write_and_read, args=(cache, start)) for _ in range(2)]
    for process in processes:
        process.start()
    start.set()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    assert [path.name for path in find_variants(cache)] == ["variant"]
