"""One variant is fetched, whole or not at all, with its own files only; then no store is needed."""

import gc
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from commands import as_json, invoke
from devices import need_packages
from fsspec.implementations.local import LocalFileSystem
from plans import chain
from published_files import CHAIN, PATH, fetched, fetched_plan, files_on, present
from servers import make_key

from tflgpu.runtime import CacheWarning, PlanError, StoreError, load
from tflgpu.runtime.cache.replacing import replace_folder
from tflgpu.runtime.cache.variant import read_variant
from tflgpu.runtime.remote import fetch as fetching
from tflgpu.runtime.remote import ledger
from tflgpu.runtime.remote.copies import copies_of
from tflgpu.runtime.remote.fetch import fetch
from tflgpu.runtime.remote.keys import SigningKey
from tflgpu.runtime.remote.manifest import Publication
from tflgpu.runtime.remote.publish import publish
from tflgpu.runtime.remote.published import listed, published
from tflgpu.runtime.remote.store import Store


class Counted(LocalFileSystem):  # type: ignore[misc]
    """This machine's disk, which notes the paths that are read and listed."""

    protocol = "counted"
    seen: list[str] = []  # noqa: RUF012

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        return LocalFileSystem._strip_protocol(str(path).removeprefix("counted://"))

    def cat_file(self, path: str, *others: Any, **more: Any) -> Any:
        self.seen.append(path)
        return super().cat_file(path, *others, **more)

    def get_file(self, path: str, *others: Any, **more: Any) -> Any:
        self.seen.append(path)
        return super().get_file(path, *others, **more)

    def ls(self, path: str, *others: Any, **more: Any) -> Any:
        self.seen.append(f"{path}/")
        return super().ls(path, *others, **more)


@pytest.fixture
def seen() -> Iterator[list[str]]:
    """What has been read and listed at counted:// URLs."""
    fsspec.register_implementation("counted", Counted, clobber=True)
    Counted.seen.clear()
    yield Counted.seen
    Counted.seen.clear()


class Unreachable(LocalFileSystem):  # type: ignore[misc]
    """A disk behind a connection that is lost as soon as something is asked for."""

    def _lost(self, *arguments: Any, **more: Any) -> Any:
        raise ConnectionError("the connection was lost")

    cat_file = get_file = ls = find = put_file = pipe_file = _lost


@pytest.fixture
def unreachable(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function after whose call file:// URLs of stores can no longer be reached."""

    def lose(store: Store) -> None:
        def opened(url: str, timeout: float) -> Store:
            found = Store(url, timeout)
            if found.url == store.url:
                found._files = Unreachable()
            return found

        monkeypatch.setattr(fetching, "Store", opened)

    return lose


def many(store: Store, tmp_path: Path, models: int) -> None:
    """Publish two variants of each of several models."""
    for number in range(models):
        parts = chain(f"{number:064x}", f"model_{number}.tflite")
        for variant in ("one", "two"):
            publish(parts.write(tmp_path / "cache", variant), store)


def test_only_its_own_files_are_touched(local: Store, tmp_path: Path, seen: list[str]) -> None:
    many(local, tmp_path, 6)
    folder, model = f"{tmp_path}/store", f"{3:064x}"
    read_variant(fetched(f"counted://{folder}/{model}/two"))
    own = f"{folder}/{model}/two/"
    assert seen and [path for path in seen if not path.startswith(own)] == []
    assert len(seen) == len(set(seen)) == 1 + len(present_of(local, model).manifest.files)

    seen.clear()
    chosen = []

    def second(found: Any) -> Any:
        chosen.extend(found)
        return found[1][0]

    fetch(f"counted://{folder}", model, "anyone", second)
    assert {plan.fingerprint for _, plan in chosen} == {model}
    assert [path for path in seen if model not in path] == [f"{folder}/"]


def test_a_pruned_cache_meanwhile(
    local: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process removes the model's folder just before the copy is put there."""
    many(local, tmp_path, 1)
    pruned: list[Path] = []

    def prune_once(folder: Path, fill: Any) -> None:
        if not pruned:
            pruned.append(folder.parent)
            shutil.rmtree(folder.parent)
        replace_folder(folder, fill)

    monkeypatch.setattr(fetching, "replace_folder", prune_once)
    folder = fetched(f"{local.url}/{0:064x}/one")
    assert pruned == [folder.parent]
    assert read_variant(folder).plan.model == "model_0.tflite"


def present_of(store: Store, model: str) -> Publication:
    found = published(store, model, "two")
    assert found is not None
    return found


def test_a_listing_reads_few_files(
    local: Store, tmp_path: Path, seen: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many variants there are: five files of the index at most."""
    monkeypatch.setattr(ledger, "FILES", 4)
    many(local, tmp_path, 8)
    found = listed(Store(f"counted://{tmp_path}/store"))
    assert [record.path for record in found] == [
        f"{number:064x}/{variant}" for number in range(8) for variant in ("one", "two")
    ]
    assert len(seen) <= 6 and all("/index/" in path for path in seen)


def test_a_model_by_name_file_and_digits(local: Store, tmp_path: Path) -> None:
    for digits, name in (("ab", "a.tflite"), ("cd", "b.tflite")):
        publish(chain(digits * 32, name).write(tmp_path / "cache"), local)
    for model in ("b.tflite", "cdcdcd", "cd" * 32):
        assert fetched(local.url, model).parent.name == "cd" * 32
    assert fetched(f"{local.url}/{'cd' * 32}").parent.name == "cd" * 32
    with pytest.raises(PlanError, match=r"several models; choose one of them:\n  abab.*a\.tflite"):
        fetched(local.url)
    with pytest.raises(PlanError, match=r"holds no compiled model of c\.tflite"):
        fetched(local.url, "c.tflite")
    with pytest.raises(PlanError, match=r"compiled from a different model \(b\.tflite\)"):
        fetched(f"{local.url}/{'cd' * 32}", "a.tflite")
    with pytest.raises(PlanError, match=f"no compiled model at {local.url}/{CHAIN}/none"):
        fetched(f"{local.url}/{CHAIN}/none")


def test_the_first_that_runs_is_taken(local: Store, tmp_path: Path, opencl_device: str) -> None:
    """Of several variants the newest that the device can run, and it alone is kept."""
    publish(chain().write(tmp_path / "cache", "runs"), local)
    publish(chain(target="glsl").write(tmp_path / "cache", "other"), local)
    with load(local.url, device=opencl_device, trust="anyone") as session:
        assert session.plan.target == "opencl"
    kept = copies_of(local.url) / CHAIN
    assert [path.stem for path in kept.iterdir() if path.is_dir()] == ["runs"]


@pytest.mark.parametrize("damage", ["changed", "short", "missing"])
@pytest.mark.parametrize("file", ["plan.tflgpu", "weights.bin", "kernels/001_scale.cl"])
def test_damage_names_the_file(
    local: Store,
    disk: Path,
    folder: Path,
    file: str,
    damage: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    publish(folder, local)
    path = files_on(disk, local) / file
    if damage == "missing":
        path.unlink()
    else:
        content = path.read_bytes()
        path.write_bytes(bytes(len(content)) if damage == "changed" else content[:-3])
    what = {"changed": "is damaged", "short": r"has \d+ bytes instead of", "missing": "is missing"}
    url = f"{local.url}/{PATH}/files-.*/{file}"
    with pytest.raises(PlanError, match=f"{url} {what[damage]}.*publish the variant again"):
        fetched(local.url)
    # As if the variant were removed meanwhile.
    monkeypatch.setattr(fetching, "published", lambda *_: None)
    with pytest.raises(PlanError, match=f"{url} {what[damage]}"):
        fetched(local.url)
    kept = copies_of(local.url) / CHAIN
    assert [each.suffix for each in kept.iterdir()] == [".lock"]


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"format": 2}', b"\xff", b"[" * 100_000])
def test_a_damaged_manifest(local: Store, disk: Path, folder: Path, content: bytes) -> None:
    gc.collect()  # Connections of earlier tests cannot be closed within json's deepest call.
    publish(folder, local)
    (disk / PATH / "manifest.json").write_bytes(content)
    with pytest.raises(
        PlanError, match=f"{local.url}/{PATH}/manifest.json (is damaged|has format)"
    ):
        fetched(local.url)


def test_what_was_fetched_is_used_offline(
    local: Store, folder: Path, key: Path, tmp_path: Path, unreachable: Any
) -> None:
    publish(folder, local, SigningKey(key))
    trusted, other = key.with_suffix(".pub"), make_key(tmp_path / "other").with_suffix(".pub")
    first = fetched(local.url, trust=trusted)
    unreachable(local)
    lost = f"cannot (list|read) {local.url}.*: the connection was lost"
    for model in (None, "chain.tflite", CHAIN):
        with pytest.warns(CacheWarning, match=f"{lost}; {first}, fetched before, is used"):
            assert fetched(local.url, model, trusted) == first
    with pytest.warns(CacheWarning, match=lost):
        assert fetched(f"{local.url}/{PATH}", trust=trusted) == first
    for model, trust in (("other.tflite", trusted), (None, other), (None, ())):
        with pytest.raises(StoreError, match=lost):
            fetched(local.url, model, trust)
    (first / "weights.bin").write_bytes(b"damaged")
    with pytest.raises(StoreError, match=lost):
        fetched(local.url, trust=trusted)


@pytest.mark.parametrize("left", ["nothing", "file"])
def test_a_drive_that_is_not_mounted(local: Store, disk: Path, folder: Path, left: str) -> None:
    """It is no store without models: what was fetched before is used."""
    publish(folder, local)
    first = fetched(local.url)
    shutil.rmtree(disk)
    if left == "file":
        disk.write_text("no store")
    with pytest.warns(CacheWarning, match=rf"{local.url}.*; {first}, fetched before, is used"):
        assert fetched(local.url) == first
    with pytest.raises(StoreError, match=f"there is no store at {local.url}|cannot .* {local.url}"):
        fetched(local.url, "other.tflite")


def test_no_folder_is_no_store(sftp: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=f"there is no store at .*{tmp_path}/none,"):
        fetched(f"{sftp}{tmp_path}/none")


def test_copies_need_no_extra(local: Store, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(folder, local)
    first = fetched(local.url)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.warns(CacheWarning, match="needs fsspec, which is not installed"):
        assert fetched(local.url) == first


def test_a_store_that_is_gone_from_the_start() -> None:
    need_packages("sshfs")
    with pytest.raises(StoreError, match=r"cannot open sftp://127\.0\.0\.1:1/models: Connect"):
        fetched("sftp://127.0.0.1:1/models")


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, key: Path) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    install = r"which is not installed; install it with: pip install 'tflgpu\[stores\]'"
    with pytest.raises(StoreError, match=f"^memory://models needs fsspec, {install}"):
        fetched("memory://models")
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives", None)
    with pytest.raises(StoreError, match=f"^the key {key}.pub needs cryptography, {install}"):
        fetched("memory://models", trust=key.with_suffix(".pub"))


def test_a_damaged_copy_is_fetched_again(local: Store, folder: Path) -> None:
    publish(folder, local)
    copy = fetched(local.url)
    (copy / "weights.bin").write_bytes(b"damaged")
    assert read_variant(fetched(local.url)).plan.model == "chain.tflite"


def test_a_copy_of_other_files_is_not_taken(
    local: Store, folder: Path, key: Path, tmp_path: Path
) -> None:
    """Files that fit each other, but not the manifest that is signed."""
    publish(folder, local, SigningKey(key))
    copy = fetched(local.url, trust=key.with_suffix(".pub"))
    evil = chain(model="evil.tflite").write(tmp_path / "evil")
    shutil.copytree(evil, copy, dirs_exist_ok=True)
    assert read_variant(copy).plan.model == "evil.tflite"
    assert fetched_plan(local.url, key.with_suffix(".pub")).model == "chain.tflite"


def test_a_copy_does_not_become_another(local: Store, folder: Path, tmp_path: Path) -> None:
    """It may be loaded by a process that trusts this one only."""
    publish(folder, local)
    copy = fetched(local.url)
    publish(chain(model="other.tflite").write(tmp_path / "other"), local)
    assert fetched_plan(local.url).model == "other.tflite"
    assert read_variant(copy).plan.model == "chain.tflite"
    kept = str(copies_of(local.url))
    assert len(as_json("cache", "list", kept)["entries"]) == 2
    invoke("cache", "prune", kept, "--max-size", "0")
    assert not copy.exists()


def test_a_new_signature_is_fetched_alone(
    local: Store, disk: Path, folder: Path, key: Path, unreachable: Any
) -> None:
    publish(folder, local)
    first = fetched(local.url)
    publish(folder, local, SigningKey(key))
    shutil.rmtree(files_on(disk, local))
    trusted = key.with_suffix(".pub")
    assert fetched(local.url, trust=trusted) == first
    unreachable(local)
    with pytest.warns(CacheWarning):
        assert fetched(local.url, trust=trusted) == first


def test_no_more_is_downloaded_than_the_manifest_says(url: str, folder: Path) -> None:
    store = Store(url)
    publish(folder, store)
    path = f"{present(store).files}/plan.tflgpu"
    size = len(store.read(path) or b"")
    store.replace(path, bytes(size + 7_000_000))
    with pytest.raises(PlanError, match=f"{url}/{path}: it has more than {size} bytes"):
        fetched(url)


def test_no_endless_manifest_or_index_is_read(
    local: Store, disk: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(folder, local)
    (file,) = (disk / "index").iterdir()
    monkeypatch.setattr(Store.read, "__defaults__", (file.stat().st_size - 1,))
    with pytest.raises(PlanError, match=rf"index/{file.name}: it has more than \d+ bytes"):
        listed(local)
    with pytest.raises(PlanError, match=r"manifest\.json: it has more than \d+ bytes"):
        fetched(local.url)


def test_what_is_there_is_not_fetched_again(local: Store, folder: Path, disk: Path) -> None:
    publish(folder, local)
    fetched(local.url)
    shutil.rmtree(files_on(disk, local))
    assert fetched_plan(local.url).model == "chain.tflite"


def test_an_unknown_server_is_refused(
    sftp: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose key is not in the user's known_hosts."""
    (tmp_path / ".ssh").mkdir()
    shutil.copy(home / ".ssh" / "id_ed25519", tmp_path / ".ssh")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(StoreError, match="Host key is not trusted"):
        Store(f"{sftp}{tmp_path}/store")


def test_a_copy_that_cannot_be_written(local: Store, folder: Path, user: Path) -> None:
    publish(folder, local)
    user.write_text("no folder")
    with pytest.raises(PlanError, match=r"cannot create the folder .*stores"):
        fetched(local.url)
    assert present(local).manifest.path == PATH
