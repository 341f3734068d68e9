"""Listing, verifying and pruning stores; their index, whatever happens to it."""

import gc
import json
import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from commands import as_json, invoke
from plans import chain
from published_files import PATH, files_on, present

from tflgpu.runtime import PlanError
from tflgpu.runtime.remote import housekeeping, index, ledger, stamps
from tflgpu.runtime.remote import publish as publish_module
from tflgpu.runtime.remote.housekeeping import problem, prune
from tflgpu.runtime.remote.index import records
from tflgpu.runtime.remote.keys import SigningKey, Trusted, fingerprint
from tflgpu.runtime.remote.manifest import Publication
from tflgpu.runtime.remote.publish import publish
from tflgpu.runtime.remote.published import Entry, entries, listed
from tflgpu.runtime.remote.store import Store

DAY = 24 * 3600


def three(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Publish three variants, one a minute; returns the bytes of one."""
    now = time.time()
    for number, variant in enumerate("bac"):
        at = now - 300 + 60 * number
        with monkeypatch.context() as patch:
            patch.setattr(publish_module, "time", SimpleNamespace(time=lambda at=at: at))
            publish(chain().write(tmp_path / "cache", variant), store)
    return records(store)[0].size


def names(store: Store) -> list[str]:
    return [entry.path.partition("/")[2] for entry in entries(store)]


def test_list_names_variants_and_signers(url: str, folder: Path, key: Path) -> None:
    publish(folder, Store(url), SigningKey(key))
    (entry,) = as_json("cache", "list", url)["entries"]
    signer = fingerprint(present(Store(url)).signatures[0].key)
    assert (entry["path"], entry["model"]) == (f"{url}/{PATH}", "chain.tflite")
    assert entry["signed_by"] == [signer] and entry["bytes"] > 500
    lines = invoke("cache", "list", url).stdout.splitlines()
    assert lines[0].startswith("1 compiled model, ") and "chain.tflite" in lines[2]


def test_a_list_takes_the_index_alone(
    local: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(folder, local)
    looked: list[str] = []
    names = Store.names

    def listed_names(store: Store, path: str = "") -> list[str]:
        looked.append(path)
        return names(store, path)

    monkeypatch.setattr(Store, "names", listed_names)
    assert len(as_json("cache", "list", local.url)["entries"]) == 1
    assert looked.count("") == 0
    assert as_json("cache", "verify", local.url)["ok"]
    assert looked.count("") == 1


def test_an_address_without_a_store_is_an_error(disk: Path, local: Store, folder: Path) -> None:
    """An address at which nothing was ever published is a wrong one."""
    url = disk.as_uri()
    for command in (["list"], ["verify"], ["clear"], ["prune", "--max-size", "1M"]):
        assert f"there is no store at {url}" in invoke("cache", *command, url, code=1).stderr
    publish(folder, local)
    prune(local, 0)
    assert invoke("cache", "list", url).stdout == "0 compiled models, 0 bytes\n"
    assert invoke("cache", "verify", url).stdout == "0 compiled models, no damage found\n"


def test_verify_names_what_is_refused(local: Store, disk: Path, folder: Path, key: Path) -> None:
    publish(folder, local)
    assert as_json("cache", "verify", local.url)["ok"]
    wrong = invoke("cache", "verify", local.url, "--trust", f"{key}.pub", code=1)
    assert f"{local.url}/{PATH} is refused, because it is not signed" in wrong.stderr
    publish(folder, local, SigningKey(key))
    invoke("cache", "verify", local.url, "--trust", f"{key}.pub")
    weights = files_on(disk, local) / "weights.bin"
    weights.write_bytes(weights.read_bytes()[::-1])
    wrong = invoke("cache", "verify", local.url, code=1)
    assert "weights.bin is damaged" in wrong.stderr and "\nerror" not in wrong.stderr
    assert not as_json("cache", "verify", local.url, code=1)["ok"]


def test_prune_removes_those_published_first(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those published first go first, with all of their files."""
    store = Store(url)
    size = three(store, tmp_path, monkeypatch)
    found = as_json("cache", "prune", url, "--max-size", str(2 * size + 1))
    assert [item["path"][-2:] for item in found["removed"]] == ["/b"] and found["bytes"] == 2 * size
    assert names(Store(url)) == ["a", "c"]
    assert [record.path[-2:] for record in listed(Store(url))] == ["/a", "/c"]
    invoke("cache", "clear", url)
    assert names(Store(url)) == [] and listed(Store(url)) == []
    assert Store(url).names() in (["index"], [])


def test_leftovers_of_a_day_go(local: Store, disk: Path, folder: Path) -> None:
    publish(folder, local)
    (young, old) = (
        disk / PATH / f"files-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(at))}-{'0' * 16}"
        for at in (time.time() - DAY / 2, time.time() - 2 * DAY)
    )
    for leftover in (young, old):
        shutil.copytree(files_on(disk, local), leftover)
    temporaries = []
    for stamp in (young.name, old.name):
        name = f".manifest.json.{stamp.removeprefix('files-')}.tmp"
        temporaries += [disk / name, disk / "index" / name]
    for path in temporaries:
        path.write_text("half")
    assert prune(local, 10**9) == []
    assert [path.exists() for path in temporaries] == [True, True, False, False]
    assert young.exists() and not old.exists() and files_on(disk, local).exists()


def test_a_variant_that_is_replaced_meanwhile_stays(
    local: Store, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(folder, local)
    before = entries(local)
    publish(chain(model="new.tflite").write(tmp_path / "new"), local)
    monkeypatch.setattr("tflgpu.runtime.remote.housekeeping.entries", lambda store: before)
    assert prune(local, 0) == []
    assert present(local).manifest.model == "new.tflite"


def test_a_prune_while_a_signature_is_added(
    local: Store, folder: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was found to be whole is gone when its manifest is replaced."""
    publish(folder, local)
    replace = publish_module._replace_manifest

    def after_pruning(store: Store, new: Publication, temporary: str) -> None:
        if new.signatures and names(store):
            assert len(prune(store, 0)) == 1
        replace(store, new, temporary)

    monkeypatch.setattr(publish_module, "_replace_manifest", after_pruning)
    publish(folder, local, SigningKey(key))
    (entry,) = entries(local)
    assert problem(local, entry, Trusted(key.with_suffix(".pub"))) == ""


def test_a_signature_that_is_added_during_a_prune(
    local: Store, folder: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes with the variant, whose files are gone."""
    publish(folder, local)
    signed, remove = SigningKey(key).add_to(present(local)), local.remove

    def and_sign(path: str) -> None:
        if path == signed.files:
            publish_module._replace_manifest(local, signed, f"{PATH}/new")
        remove(path)

    monkeypatch.setattr(local, "remove", and_sign)
    assert len(prune(local, 0)) == 1
    assert entries(local) == []


def test_a_variant_that_comes_back_meanwhile_stays_in_the_index(
    local: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was removed, and published again before the index was written."""
    publish(folder, local)
    removed = housekeeping._remove

    def remove(store: Store, entry: Entry) -> bool:
        found = removed(store, entry)
        publish(folder, store)
        return found

    monkeypatch.setattr(housekeeping, "_remove", remove)
    assert len(prune(local, 0)) == 1
    assert names(local) == ["variant"]
    assert [record.path for record in records(local)] == [PATH]
    assert records(local)[0].published == present(local).published


def test_variants_of_a_newer_version_stay(
    local: Store, disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    three(local, tmp_path, monkeypatch)
    path = disk / present(local, "a").manifest.path / "manifest.json"
    path.write_text('{"format": 2}')
    assert [entry.path[-2:] for entry in prune(local, 0)] == ["/b", "/c"]
    assert path.exists() and len(list(path.parent.glob("files-*/plan.tflgpu"))) == 1
    assert [record.path[-2:] for record in records(local)] == ["/a"]
    wrong = invoke("cache", "verify", local.url, code=1)
    assert "has format 2, this version of tflgpu reads 1; update tflgpu" in wrong.stderr


def test_an_index_is_kept_short(
    local: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "FILES", 4)
    for number in range(12):
        publish(chain().write(tmp_path / "cache", f"v{number:03}"), local)
        assert len(local.names("index")) <= 5
    assert [record.path.partition("/")[2] for record in records(local)] == names(local)


def test_a_store_without_an_index_is_listed(local: Store, disk: Path, folder: Path) -> None:
    publish(folder, local)
    shutil.rmtree(disk / "index")
    assert [record.model for record in listed(local)] == ["chain.tflite"]
    prune(local, 10**9)
    assert [record.model for record in records(local)] == ["chain.tflite"]


@pytest.mark.parametrize("content", [b"", b"[]", b'{"format": 1}', b"[" * 100_000])
def test_a_damaged_index(local: Store, disk: Path, folder: Path, content: bytes) -> None:
    gc.collect()  # Connections of earlier tests cannot be closed within json's deepest call.
    publish(folder, local)
    (file,) = (disk / "index").iterdir()
    file.write_bytes(content)
    with pytest.raises(PlanError, match=rf"{local.url}/index/{file.name} is damaged .*remove the"):
        listed(local)


@pytest.mark.parametrize(
    "field", ['"size": -1', '"size": "x"', '"model": 7', '"published": NaN', '"signers": ["x"]']
)
def test_a_damaged_record(local: Store, disk: Path, folder: Path, field: str) -> None:
    publish(folder, local)
    (file,) = (disk / "index").iterdir()
    found = json.loads(file.read_bytes())
    found["variants"][0].update(json.loads(f"{{{field}}}"))
    file.write_text(json.dumps(found))
    wrong = invoke("cache", "list", local.url, code=1)
    assert f"{file.name} is damaged" in wrong.stderr


def test_records_of_what_never_came_go_after_a_day(
    local: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(folder, local)
    ghost = index.Record(f"{'cd' * 32}/ghost", "ghost.tflite", 5, int(time.time()))
    index.add(local, ghost)
    prune(local, 10**9)
    assert len(records(local)) == 2
    monkeypatch.setattr(index, "UNFINISHED", -1)
    prune(local, 10**9)
    assert [record.path for record in records(local)] == [PATH]
    assert stamps.UNFINISHED == DAY


def test_other_commands_take_no_url() -> None:
    wrong = invoke("inspect", "s3://user:secret@models", code=2)
    assert "is a URL; this takes a path" in wrong.stderr and "secret" not in wrong.stderr
