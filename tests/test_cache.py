"""The cache folder: written whole, private, and every byte checked when it is read."""

import multiprocessing
import os
import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plans import chain
from processes import write_and_read

from tflgpu.compiler.emit import folder as packing
from tflgpu.runtime import PlanError, load
from tflgpu.runtime.store.cache import find_variants, fingerprint, read_settled
from tflgpu.runtime.store.private_files import make_private
from tflgpu.runtime.store.variant import read_plan, read_variant

posix = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX systems")
FILES = [
    "plan.tflgpu",
    "weights.bin",
    "kernels/000_add.cl",
    "kernels/001_scale.cl",
    "kernels/002_subtract.cl",
]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A variant's folder that tests leave as they found it."""
    return chain().write(tmp_path_factory.mktemp("shared"))


# -- writing ----------------------------------------------------------------------------------


def test_layout(cache: Path) -> None:
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
def test_private(cache: Path) -> None:
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
    assert chain().write(cache) == folder
    assert read_variant(folder).plan == chain().plan
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


def test_two_processes(cache: Path) -> None:
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


# -- reading ----------------------------------------------------------------------------------


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(FILES), st.data())
def test_any_damage_is_noticed(shared: Path, file: str, data: st.DataObject) -> None:
    path = shared / file
    whole = path.read_bytes()
    length = data.draw(st.integers(0, len(whole)), "bytes left")
    content = bytearray(whole[:length])
    if length == len(whole):
        content[data.draw(st.integers(0, length - 1), "byte")] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    try:
        with pytest.raises(PlanError, match=path.name):
            read_variant(shared)
    finally:
        path.write_bytes(whole)
    assert read_variant(shared).plan == chain().plan


@pytest.mark.parametrize("file", [*FILES, "kernels"])
def test_missing_file(cache: Path, file: str) -> None:
    folder = chain().write(cache)
    (folder / file).rename(folder / "gone")
    with pytest.raises(PlanError, match=f"cannot read .*{Path(file).name}: No such file"):
        read_variant(folder)


@posix
@pytest.mark.parametrize("file", [*FILES, "kernels"])
def test_links_are_not_followed(cache: Path, tmp_path: Path, file: str) -> None:
    folder = chain().write(cache)
    outside = tmp_path / "outside"
    (folder / file).rename(outside)
    (folder / file).symlink_to(outside)
    with pytest.raises(PlanError, match=Path(file).name):
        read_variant(folder)


@posix
@pytest.mark.parametrize("depth", [1, 2])
def test_linked_folder(cache: Path, tmp_path: Path, depth: int) -> None:
    folder = chain().write(cache)
    inner = [folder, folder.parent][depth - 1]
    inner.rename(tmp_path / "outside")
    inner.symlink_to(tmp_path / "outside")
    with pytest.raises(PlanError, match="is a symbolic link"):
        load(cache)


@posix
def test_cache_itself_may_be_a_link(cache: Path, tmp_path: Path) -> None:
    folder = chain().write(cache)
    (tmp_path / "link").symlink_to(cache)
    assert find_variants(tmp_path / "link") == [folder.resolve()]


@posix
def test_pipe_is_refused(cache: Path) -> None:
    folder = chain().write(cache)
    (folder / "plan.tflgpu").unlink()
    os.mkfifo(folder / "plan.tflgpu", 0o600)
    with pytest.raises(PlanError, match=r"plan\.tflgpu is not a plain file"):
        read_variant(folder)


@posix
@pytest.mark.parametrize("file", ["", *FILES, "kernels"])
@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_writable_by_others(cache: Path, file: str, mode: int) -> None:
    folder = chain().write(cache)
    (folder / file).chmod(mode)
    with pytest.raises(
        PlanError, match=r"can be written to by other users \(mode 7.*chmod -R go-w"
    ):
        read_variant(folder)


@posix
@pytest.mark.parametrize("depth", [0, 1])
def test_writable_parents(cache: Path, depth: int) -> None:
    folder = chain().write(cache)
    folder.parents[depth].chmod(0o777)
    with pytest.raises(PlanError, match="can be written to by other users"):
        load(cache)
    with pytest.raises(PlanError, match="can be written to by other users"):
        chain().write(cache)


@posix
def test_folder_of_another_user(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = chain().write(cache)
    owner = folder.stat().st_uid
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    if owner == 0:
        assert read_variant(folder).plan == chain().plan
        return
    with pytest.raises(PlanError, match=f"belongs to another user \\(id {owner}\\)"):
        read_variant(folder)


@posix
def test_owner_is_checked(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = chain().write(cache)
    lstat = Path.lstat

    def foreign(path: Path) -> os.stat_result:
        status = list(lstat(path))
        status[stat.ST_UID] = 54321
        return os.stat_result(status)

    monkeypatch.setattr(Path, "lstat", foreign)
    with pytest.raises(PlanError, match=r"belongs to another user \(id 54321\)"):
        read_variant(folder)


# -- finding ----------------------------------------------------------------------------------


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "chain.tflite"
    path.write_bytes(b"the content of a model")
    return path


def test_by_model(cache: Path, model: Path) -> None:
    digest = fingerprint(model)
    assert digest == fingerprint(model.read_bytes())
    folder = chain(digest).write(cache)
    chain("cd" * 32).write(cache)
    for choice in (model, str(model), digest):
        assert find_variants(cache, choice) == [folder.resolve()]


def test_only_model(cache: Path) -> None:
    folders = [chain().write(cache, name).resolve() for name in ("a", "b")]
    (cache / "tuning").mkdir()
    assert find_variants(cache) == folders


def test_variant_folder_itself(cache: Path, model: Path) -> None:
    folder = chain(fingerprint(model)).write(cache)
    assert find_variants(folder) == [folder.resolve()]
    assert find_variants(folder, model) == [folder.resolve()]
    with pytest.raises(
        PlanError, match=r"was compiled from a different model than cdcd.*tflgpu-compile MODEL"
    ):
        find_variants(folder, "cd" * 32)


def test_several_models(cache: Path) -> None:
    chain().write(cache)
    chain("cd" * 32, "other.tflite").write(cache)
    with pytest.raises(PlanError) as caught:
        find_variants(cache)
    assert str(caught.value) == (
        f"{cache.resolve()} holds several models; choose one of them:\n"
        f"  {'ab' * 32}  chain.tflite\n"
        f"  {'cd' * 32}  other.tflite"
    )


MISSING: dict[str, tuple[Callable[[Path, Path], object], str]] = {
    "no cache": (
        lambda cache, model: find_variants(cache / "x"),
        "there is no cache at .*/x; create one",
    ),
    "no model": (lambda cache, model: find_variants(cache), "holds no compiled model; compile one"),
    "not compiled": (
        lambda cache, model: find_variants(cache, model),
        r"holds no plan of .*chain\.tflite; compile it with: tflgpu-compile .*chain\.tflite -o",
    ),
    "no such fingerprint": (
        lambda cache, model: find_variants(cache, "ef" * 32),
        "holds no plan of efef.*; compile it with: tflgpu-compile MODEL -o",
    ),
    "no such file": (
        lambda cache, model: find_variants(cache, "x.tflite"),
        r"cannot read the model x\.tflite: No such file .*; give the model's file or its fing",
    ),
}


@pytest.mark.parametrize("case", MISSING)
def test_nothing_found(cache: Path, model: Path, case: str) -> None:
    cache.mkdir(mode=0o700)
    call, message = MISSING[case]
    with pytest.raises(PlanError, match=message):
        call(cache, model)


# -- replacing --------------------------------------------------------------------------------


def test_a_folder_replaced_while_it_is_read_is_read_again(cache: Path) -> None:
    folder = chain().write(cache)
    attempts: list[int] = []

    def read() -> str:
        attempts.append(len(attempts))
        if len(attempts) < 3:
            chain().replacing(compiler=f"0.{len(attempts)}").write(cache)
            raise PlanError("half of it is new")
        return "whole"

    for place in (cache, folder):
        attempts.clear()
        assert read_settled(place, read) == "whole"
        assert len(attempts) == 3


def test_a_folder_that_is_damaged_is_read_once(cache: Path) -> None:
    chain().write(cache)
    attempts: list[int] = []

    def read() -> None:
        attempts.append(len(attempts))
        raise PlanError("damaged")

    for place in (cache, cache / "nowhere"):
        attempts.clear()
        with pytest.raises(PlanError, match="damaged"):
            read_settled(place, read)
        assert len(attempts) == 1
