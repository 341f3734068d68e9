"""A variant is put into a store whole or not at all, by each protocol, and loaded from there."""

from pathlib import Path

import fsspec
import numpy as np
import pytest
from plans import chain, chain_result
from published_files import CHAIN, PATH, fetched, fetched_plan, files_on, present
from servers import http_server, make_key

from tflgpu.compiler.emit.edits import apply_edits
from tflgpu.compiler.emit.folder import pack
from tflgpu.runtime import PlanError, StoreError, load
from tflgpu.runtime.cache.folder import variant_folder
from tflgpu.runtime.cache.variant import as_compiled, read_variant
from tflgpu.runtime.remote.housekeeping import prune
from tflgpu.runtime.remote.index import records
from tflgpu.runtime.remote.keys import SigningKey
from tflgpu.runtime.remote.publish import is_intact, publish
from tflgpu.runtime.remote.published import published
from tflgpu.runtime.remote.store import Store
from tflgpu.runtime.remote.url import without_password

FILES = {
    "plan.tflgpu",
    "weights.bin",
    "kernels/000_add.cl",
    "kernels/001_scale.cl",
    "kernels/002_subtract.cl",
}


def content(folder: Path) -> dict[str, bytes]:
    return {file: (folder / file).read_bytes() for file in FILES}


def test_what_is_fetched_is_what_was_published(url: str, folder: Path, user: Path) -> None:
    store = Store(url)
    assert publish(folder, store) == f"{url}/{PATH}"
    copy = fetched(url)
    assert copy.is_relative_to(user) and content(copy) == content(folder)
    assert is_intact(store, present(store))
    assert [record.model for record in records(store)] == ["chain.tflite"]


@pytest.mark.parametrize("now", [-5.0, 1e12, float("nan")])
def test_a_clock_that_is_wrong(
    local: Store, folder: Path, monkeypatch: pytest.MonkeyPatch, now: float
) -> None:
    """Nothing is published that no reader would take."""
    monkeypatch.setattr("time.time", lambda: now)
    with pytest.raises(StoreError, match=r"the clock of this machine must be set: .* Unix time"):
        publish(folder, local)
    assert local.names() == []


def test_storage_of_google(gs: str, folder: Path, tmp_path: Path) -> None:
    store, key = Store(gs), make_key(tmp_path / "key")
    publish(folder, store, SigningKey(key))
    assert content(fetched(gs, trust=key.with_suffix(".pub"))) == content(folder)
    publish(chain(model="other.tflite").write(tmp_path / "other", "variant"), store)
    assert fetched_plan(gs, "anyone").model == "other.tflite"
    prune(store, 0)
    assert (published(store, CHAIN, "variant"), records(store)) == (None, [])


def test_edited_kernels_are_published_with_what_they_replace(
    folder: Path, tmp_path: Path, user: Path
) -> None:
    compiled = read_variant(folder)
    text = compiled.sources["kernels/001_scale.cl"].replace("2.0f", "4.0f")
    edited = apply_edits(compiled.plan, compiled.sources, {1: text})
    place = variant_folder(tmp_path / "edited", CHAIN, "variant")
    content = compiled.weights.content
    pack(edited.plan, edited.sources, content, place, edited.originals)
    url = f"file://{tmp_path}/other"
    publish(place, Store(url))
    copy = read_variant(fetched(url))
    assert (copy.edited, copy.sources["kernels/001_scale.cl"]) == (("scale",), text)
    assert as_compiled(copy) == (compiled.plan, compiled.sources)


def test_publishing_again_changes_nothing(url: str, folder: Path) -> None:
    store = Store(url)
    publish(folder, store)
    before = present(store)
    publish(folder, Store(url))
    assert present(store) == before
    assert store.names(PATH) == [before.folder, "manifest.json"]
    assert len(store.names("index")) == 1


def test_another_plan_of_the_same_name_replaces(url: str, folder: Path, tmp_path: Path) -> None:
    store = Store(url)
    publish(folder, store)
    before = fetched_plan(url)
    publish(chain(model="renamed.tflite").write(tmp_path / "other"), store)
    assert (before.model, fetched_plan(url).model) == ("chain.tflite", "renamed.tflite")
    assert [record.model for record in records(store)] == ["renamed.tflite"]


def test_a_signature_is_added_and_stays(url: str, folder: Path, key: Path) -> None:
    store = Store(url)
    publish(folder, store)
    publish(folder, store, SigningKey(key))
    signed = present(store)
    assert len(signed.signatures) == 1
    publish(folder, store)
    assert present(store) == signed


def test_a_second_key_adds_a_signature(url: str, folder: Path, key: Path, tmp_path: Path) -> None:
    """Whoever trusts either can go on: a signature is added, and no file is written again."""
    store, other = Store(url), make_key(tmp_path / "other")
    for path in (key, other, key):
        publish(folder, store, SigningKey(path))
    for path in (key, other):
        assert content(fetched(url, trust=path.with_suffix(".pub"))) == content(folder)
    found = present(store)
    assert len(found.signatures) == 2 == len(records(store)[0].signers)
    assert store.names(PATH) == [found.folder, "manifest.json"]


def test_a_wrong_signature_is_not_kept(local: Store, disk: Path, folder: Path, key: Path) -> None:
    """Whoever trusts both keys would refuse the variant because of it."""
    publish(folder, local, SigningKey(key))
    path = disk / PATH / "manifest.json"
    value = present(local).signatures[0].value
    path.write_text(path.read_text().replace(value, "0" * 128))
    publish(folder, local, SigningKey(make_key(disk.parent / "other")))
    assert len(present(local).signatures) == 1


@pytest.mark.parametrize("damage", ["changed", "short", "missing", "manifest"])
def test_publishing_repairs(local: Store, disk: Path, folder: Path, damage: str) -> None:
    publish(folder, local)
    weights = files_on(disk, local) / "weights.bin"
    if damage == "changed":
        weights.write_bytes(bytes(weights.stat().st_size))
    elif damage == "short":
        weights.write_bytes(weights.read_bytes()[:-1])
    elif damage == "missing":
        weights.unlink()
    else:
        (disk / PATH / "manifest.json").write_text("{}")
    with pytest.raises(PlanError):
        fetched(local.url)
    publish(folder, local)
    assert content(fetched(local.url)) == content(folder)


def test_session_from_a_url(url: str, folder: Path, opencl_device: str) -> None:
    publish(folder, Store(url))
    with load(url, device=opencl_device, trust="anyone") as session:
        a, b = (np.arange(n, n + len(chain_result_input())) for n in (1, 2))
        inputs = {"a": a.astype(np.float32), "b": b.astype(np.float32)}
        out = session.run(inputs)
    np.testing.assert_allclose(out["y"], chain_result(*inputs.values()), rtol=1e-6)


def chain_result_input() -> range:
    return range(chain().plan.inputs[0].shape[0])


def test_http_is_for_reading(folder: Path, disk: Path, local: Store) -> None:
    publish(folder, local)
    with http_server(disk.parent) as root:
        url = f"{root}/{disk.name}"
        assert content(fetched(url)) == content(folder)
        assert content(fetched(f"{url}/{PATH}")) == content(folder)
        with pytest.raises(StoreError, match=f"{url} is for reading only"):
            publish(folder, Store(url))


def test_what_is_no_whole_variant_is_not_published(local: Store, disk: Path, folder: Path) -> None:
    (folder / "weights.bin").write_bytes(b"short")
    with pytest.raises(PlanError, match=r"weights\.bin has 5 bytes"):
        publish(folder, local)
    assert published(local, CHAIN, "variant") is None and not disk.exists()


def test_binaries_of_devices_are_not_published(local: Store, folder: Path) -> None:
    (folder / "binaries").mkdir()
    (folder / "binaries" / "x.bin").write_bytes(b"of a driver")
    publish(folder, local)
    assert set(present(local).manifest.files) == FILES


def test_passwords_are_not_shown() -> None:
    url = "sftp://user:secret@host:22/models"
    assert without_password(url) == "sftp://user@host:22/models"
    assert without_password("http://[bad") == "http://[bad"
    with pytest.raises(StoreError) as raised:
        Store("sftp://user:secret@127.0.0.1:1/models")
    assert "user@127.0.0.1:1" in str(raised.value) and "secret" not in str(raised.value)


def test_passwords_in_the_texts_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(url: str, **settings: object) -> None:
        raise ValueError(f"no luck with {url}")

    monkeypatch.setattr(fsspec.core, "url_to_fs", fail)
    with pytest.raises(StoreError, match=r"no luck with sftp://user:\.\.\.@host/models"):
        Store("sftp://user:secret@host/models")


@pytest.mark.parametrize("url", ["file://", "s3://", "file:///"])
def test_urls_name_a_place(url: str) -> None:
    """Where a variable is unset that has the rest, nothing goes into the current folder."""
    for use in (Store, fetched):
        with pytest.raises(StoreError, match=f"{url} names no place; give the whole URL"):
            use(url)


@pytest.mark.parametrize("url", ["https://u:secret@h/x?token=secret", "s3://x/y#secret"])
def test_urls_end_with_their_path(url: str) -> None:
    for use in (Store, fetched):
        with pytest.raises(StoreError, match=r"has a query or a fragment \(\? or #\)") as raised:
            use(url)
        assert "secret" not in str(raised.value)


def test_urls_that_are_none() -> None:
    with pytest.raises(StoreError, match=r"cannot list http://\[bad: Invalid IPv6 URL"):
        fetched("http://[bad")


def test_an_unknown_protocol_is_an_error() -> None:
    with pytest.raises(StoreError, match="cannot open gopher://host/models: Protocol not known"):
        Store("gopher://host/models")
