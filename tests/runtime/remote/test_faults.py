"""Stores that are read-only or full, writers that are killed, and several at once."""

import shutil
import time
from collections.abc import Iterator
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import pytest
from disks import mounted
from plans import chain
from plans.publishing import publish_alternately, publish_for_ever
from platforms import linux
from published_files import CHAIN, PATH, fetched_plan, present
from servers import sftp_server

from tflgpu.runtime import PlanError, StoreError
from tflgpu.runtime.remote.copies import copies_of
from tflgpu.runtime.remote.housekeeping import prune
from tflgpu.runtime.remote.index import records
from tflgpu.runtime.remote.publish import is_intact, publish
from tflgpu.runtime.remote.published import entries, published
from tflgpu.runtime.remote.store import Store

LOADS = 200
KILLS, MOST_KILLS = 8, 40
SECONDS_TO_END = 60


@pytest.fixture
def read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The root of a real server that lets nobody write."""
    home = tmp_path / "reader"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    with sftp_server(home, "-R") as root:
        yield root


def test_a_store_that_is_read_only_can_be_loaded_from(
    read_only: str, local: Store, disk: Path, folder: Path
) -> None:
    publish(folder, local)
    store = Store(f"{read_only}{disk}")
    assert fetched_plan(store.url).model == "chain.tflite"
    other = chain(model="other.tflite").write(disk.parent / "other")
    with pytest.raises(
        StoreError, match=f"cannot write {store.url}/{PATH}/files-.*Permission denied"
    ):
        publish(other, store)
    assert fetched_plan(store.url).model == "chain.tflite"
    assert local.names(PATH) == [present(local).folder, "manifest.json"]


def test_folder_instead_of_a_manifest(url: str, tmp_path: Path) -> None:
    """The variants beside it are there, and it is named."""
    store = Store(url)
    for name in ("bad", "good"):
        publish(chain().write(tmp_path / "cache", name), store)
    store.remove(f"{CHAIN}/bad/manifest.json")
    store.upload({f"{CHAIN}/bad/manifest.json/file": Path(__file__)})
    assert fetched_plan(store.url).model == "chain.tflite"
    bad = {entry.path: entry.problem for entry in entries(store) if entry.publication is None}
    if bad:  # S3 has no folders
        assert "manifest.json is a folder" in bad[f"{CHAIN}/bad"]
        with pytest.raises(PlanError, match=r"manifest\.json is a folder"):
            publish(tmp_path / "cache" / CHAIN / "bad", store)
    assert prune(store, 1 << 30) == []
    assert [entry.path for entry in entries(store) if entry.publication] == [f"{CHAIN}/good"]


@linux
@pytest.mark.parametrize("kilobytes", [8, 16, 24, 32, 36, 40, 44, 48, 64])
@pytest.mark.parametrize("protocol", ["file", "sftp"])
def test_a_full_store_has_a_variant_whole_or_not_at_all(
    request: pytest.FixtureRequest, tmp_path: Path, folder: Path, protocol: str, kilobytes: int
) -> None:
    """Whether or not there is room for it, it is whole or not there."""
    root = request.getfixturevalue("sftp") if protocol == "sftp" else "file://"
    with mounted(tmp_path / "disk", f"size={kilobytes}k") as disk:
        store = Store(f"{root}{disk}/store")
        try:
            publish(folder, store)
        except StoreError as error:
            assert str(error).startswith(f"cannot write {store.url}/")
            assert kilobytes < 64
            assert published(store, CHAIN, "variant") is None
        else:
            assert kilobytes > 16
            assert fetched_plan(store.url).model == "chain.tflite"


def test_once_a_file_fails_no_others_are_asked_for(local: Store) -> None:
    """Also while the answer for one before it is awaited."""
    asked = []

    def answer(number: int) -> None:
        asked.append(number)
        if number == 0:
            time.sleep(0.5)
        elif number == 1:
            raise StoreError("number 1 is missing")

    with pytest.raises(StoreError, match="number 1 is missing"):
        local.each(answer, range(5000))
    assert len(asked) < 1000


@linux
def test_a_killed_writer_leaves_what_was_there(
    local: Store, tmp_path: Path, server: ForkServerContext
) -> None:
    """Whenever a writer is killed, what was there before is there and whole."""
    folders = [chain(model=f"{name}.tflite").write(tmp_path / name) for name in ("even", "odd")]
    publish(folders[0], local)
    seen = set()
    for number in range(MOST_KILLS):
        started = server.Event()
        process = server.Process(target=publish_for_ever, args=(folders, local.url, started))
        process.start()
        assert started.wait(SECONDS_TO_END)
        process.join(0.015 * number)
        process.kill()
        process.join(SECONDS_TO_END)
        found = present(local)
        assert is_intact(local, found)
        seen.add(found.manifest.model)
        assert {record.path for record in records(local)} == {PATH}
        if number + 1 >= KILLS and len(seen) == 2:
            break
    assert seen == {"even.tflite", "odd.tflite"}


@linux
def test_loads_while_another_process_writes(
    local: Store, tmp_path: Path, server: ForkServerContext
) -> None:
    """Each is one of the two that are published in turn, and whole."""
    names = ("even", "odd")
    folders = [chain(model=f"{name}.tflite").write(tmp_path / name) for name in names]
    publish(folders[0], local)
    started, stop = server.Event(), server.Event()
    writer = server.Process(target=publish_alternately, args=(folders, local.url, started, stop))
    writer.start()
    try:
        assert started.wait(SECONDS_TO_END)
        models = []
        for _ in range(LOADS):
            shutil.rmtree(copies_of(local.url), ignore_errors=True)
            models.append(fetched_plan(local.url).model)
        assert writer.is_alive()
    finally:
        stop.set()
        writer.join(SECONDS_TO_END)
    assert writer.exitcode == 0
    assert {f"{name}.tflite" for name in names} == set(models)


@linux
def test_two_writers_publish_all_variants(
    local: Store, tmp_path: Path, server: ForkServerContext
) -> None:
    """Each publishes all of eight variants, of which half are the same; none is lost."""
    common = [chain().write(tmp_path / "cache", f"common_{n}") for n in range(4)]
    own = [
        [chain().write(tmp_path / "cache", f"own_{writer}_{n}") for n in range(4)]
        for writer in range(2)
    ]
    started = [server.Event() for _ in own]
    stop: Any = server.Event()
    stop.set()
    writers = [
        server.Process(target=publish_alternately, args=(common + mine, local.url, event, stop))
        for mine, event in zip(own, started, strict=True)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(SECONDS_TO_END)
    assert [writer.exitcode for writer in writers] == [0, 0]
    found = entries(local)
    names = sorted(path.name for path in (*common, *own[0], *own[1]))
    assert [entry.path.partition("/")[2] for entry in found] == names
    assert all(entry.publication and is_intact(local, entry.publication) for entry in found)
    assert {record.path for record in records(local)} == {entry.path for entry in found}
