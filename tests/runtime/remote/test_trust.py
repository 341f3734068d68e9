"""Variants of a store run only if a trusted key signed them, under the name that they have."""

import json
import logging
import shutil
import subprocess
import traceback
from pathlib import Path
from typing import Any

import pytest
from devices import need_programs
from plans import chain
from published_files import CHAIN, PATH, fetched, fetched_plan, present
from servers import make_key

from tflgpu.runtime import PlanError, StoreError, load
from tflgpu.runtime.cache.variant import read_variant
from tflgpu.runtime.remote.keys import SigningKey, fingerprint
from tflgpu.runtime.remote.publish import publish
from tflgpu.runtime.remote.store import Store


def public(key: Path) -> Path:
    return key.with_suffix(".pub")


def edit_manifest(disk: Path, **fields: object) -> None:
    """Change what a manifest says, as somebody who can write to the store but has no key."""
    path = disk / PATH / "manifest.json"
    found = json.loads(path.read_bytes())
    found["manifest"].update(fields)
    path.write_text(json.dumps(found))


def test_a_trusted_signature_is_accepted(local: Store, folder: Path, key: Path) -> None:
    publish(folder, local, SigningKey(key))
    for trust in ([public(key)], public(key), public(key).read_text(), [str(public(key))]):
        assert fetched_plan(local.url, trust).model == "chain.tflite"


def test_keys_may_be_those_of_openssl(local: Store, folder: Path, tmp_path: Path) -> None:
    """Keys as OpenSSL writes them."""
    key, other = tmp_path / "key.pem", tmp_path / "public.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
    subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", other], check=True)
    publish(folder, local, SigningKey(key))
    for trust in (other, other.read_text()):
        assert fetched_plan(local.url, trust).model == "chain.tflite"


def test_a_variant_without_a_signature_is_refused(local: Store, folder: Path, key: Path) -> None:
    publish(folder, local)
    with pytest.raises(PlanError, match=f"{local.url}/{PATH} is refused, because it is not signed"):
        fetched(local.url, trust=public(key))
    with pytest.raises(PlanError, match="is not signed"):
        load(local.url)
    assert fetched_plan(local.url, "anyone").model == "chain.tflite"


def test_signed_by_another(local: Store, folder: Path, key: Path, tmp_path: Path) -> None:
    publish(folder, local, SigningKey(make_key(tmp_path / "other")))
    with pytest.raises(PlanError, match="which is not among the trusted keys") as raised:
        fetched(local.url, trust=public(key))
    signer = present(local).signatures[0].key
    shown = subprocess.run(
        ["ssh-keygen", "-l", "-f", tmp_path / "other.pub"], capture_output=True, text=True
    )
    assert fingerprint(signer) in shown.stdout and fingerprint(signer) in str(raised.value)


def test_signed_by_many(local: Store, disk: Path, folder: Path, key: Path) -> None:
    """Strangers can add as many signatures as they like; few are named."""
    publish(folder, local, SigningKey(key))
    path = disk / PATH / "manifest.json"
    found = json.loads(path.read_bytes())
    mine = found["signatures"]
    found["signatures"] = [{"key": f"{n:064x}", "value": "0" * 128} for n in range(1000)]
    path.write_text(json.dumps(found))
    with pytest.raises(PlanError, match="and 997 others, which is not among") as raised:
        fetched(local.url, trust=public(key))
    assert str(raised.value).count("SHA256:") == 3
    found["signatures"] += mine
    path.write_text(json.dumps(found))
    assert fetched_plan(local.url, public(key)).model == "chain.tflite"


@pytest.mark.parametrize("trust", ["a\0b", ["a\0b"], [Path("a\0b")], "\ud800"])
def test_no_possible_file(local: Store, folder: Path, trust: Any) -> None:
    publish(folder, local)
    with pytest.raises(StoreError, match=r"cannot read the key .*: there can be no such file"):
        load(local.url, trust=trust)


def test_several_are_refused_together(local: Store, folder: Path, key: Path) -> None:
    """Each is named, and what to do about them is said once."""
    for name in ("a", "b"):
        publish(chain().write(folder.parents[1], name), local)
    with pytest.raises(PlanError) as raised:
        fetched(local.url, trust=public(key))
    first, second = str(raised.value).splitlines()
    assert first == f"{local.url}/{CHAIN}/b is refused, because it is not signed"
    assert second.startswith(f"{local.url}/{CHAIN}/a is refused, because it is not signed; a plan")


def test_tampered_files_are_refused(url: str, folder: Path, key: Path) -> None:
    store = Store(url)
    publish(folder, store, SigningKey(key))
    kernel = f"{present(store).files}/kernels/000_add.cl"
    content = store.read(kernel)
    assert content is not None
    lies = {
        "is damaged": content.replace(b"a[i] + b[i]", b"a[i] - b[i]"),
        "has 240 bytes instead of 241": content[:-1],
        "has more than 241 bytes": content + b" ",
    }
    for problem, lie in lies.items():
        store.replace(kernel, lie)
        with pytest.raises(PlanError, match=rf"kernels/000_add\.cl.*{problem}"):
            fetched(url, trust=public(key))
    store.replace(kernel, content)
    assert read_variant(fetched(url, trust=public(key))).sources == read_variant(folder).sources


def test_an_older_manifest_played_again(url: str, folder: Path, key: Path, tmp_path: Path) -> None:
    """It is rightly signed, so what it names is loaded, whole; no file is of the newer one."""
    store = Store(url)
    publish(folder, store, SigningKey(key))
    older = store.read(f"{PATH}/manifest.json")
    assert older is not None
    publish(chain(model="newer.tflite").write(tmp_path / "newer"), store, SigningKey(key))
    assert fetched_plan(url, public(key)).model == "newer.tflite"
    store.replace(f"{PATH}/manifest.json", older)
    assert fetched_plan(url, public(key)).model == "chain.tflite"


def test_a_tampered_manifest_is_refused(local: Store, disk: Path, folder: Path, key: Path) -> None:
    """Files of an attacker, with a manifest that fits, but keeps the old signature."""
    publish(folder, local, SigningKey(key))
    good = present(local)
    evil = chain(model="evil.tflite").write(disk.parent / "evil")
    publish(evil, local)
    found = json.loads((disk / PATH / "manifest.json").read_bytes())
    signature = good.signatures[0]
    found["signatures"] = [{"key": signature.key, "value": signature.value}]
    (disk / PATH / "manifest.json").write_text(json.dumps(found))
    with pytest.raises(PlanError, match=r"the signature by SHA256:.* is not that of this manifest"):
        fetched(local.url, trust=public(key))
    assert fetched_plan(local.url, "anyone").model == "evil.tflite"


@pytest.mark.parametrize("place", ["variant", "fingerprint"])
def test_the_manifest_of_another_variant_is_refused(
    local: Store, disk: Path, folder: Path, key: Path, place: str
) -> None:
    """An older variant, rightly signed, under the name of another."""
    publish(folder, local, SigningKey(key))
    other = f"{CHAIN}/newer" if place == "variant" else f"{'cd' * 32}/variant"
    shutil.copytree(disk / PATH, disk / other)
    with pytest.raises(PlanError, match=f"is the manifest of another variant, {PATH}"):
        fetched(f"{local.url}/{other}", trust=public(key))
    edit = json.loads((disk / other / "manifest.json").read_bytes())
    edit["manifest"]["fingerprint"], edit["manifest"]["variant"] = other.split("/")
    (disk / other / "manifest.json").write_text(json.dumps(edit))
    with pytest.raises(PlanError, match="is not that of this manifest"):
        fetched(f"{local.url}/{other}", trust=public(key))


def test_replayed_through_the_index(local: Store, disk: Path, folder: Path, key: Path) -> None:
    """The index, which is not signed, says that a model has the name of another."""
    publish(folder, local, SigningKey(key))
    (index,) = (disk / "index").iterdir()
    index.write_text(index.read_text().replace("chain.tflite", "wanted.tflite"))
    with pytest.raises(PlanError, match=r"compiled from a different model \(chain\.tflite\)"):
        fetched(local.url, "wanted.tflite", public(key))


@pytest.mark.parametrize(
    "path",
    [
        "planxtflgpu",
        "../../x",
        "/etc/passwd",
        "kernels/../x",
        "kernels/a/b",
        "kernels\\x",
        "binaries/x",
    ],
)
def test_files_outside_of_the_variant_are_refused(
    local: Store, disk: Path, folder: Path, path: str
) -> None:
    publish(folder, local)
    files = json.loads((disk / PATH / "manifest.json").read_bytes())["manifest"]["files"]
    edit_manifest(disk, files={**files, path: files["weights.bin"]})
    with pytest.raises(PlanError, match=r"manifest\.json is damaged \(.* is not a file\)"):
        fetched(local.url)


def test_folders_outside_of_the_variant_are_refused(local: Store, disk: Path, folder: Path) -> None:
    publish(folder, local)
    path = disk / PATH / "manifest.json"
    path.write_text(path.read_text().replace(present(local).folder, "../../x"))
    with pytest.raises(PlanError, match="is not a folder"):
        fetched(local.url)


def test_an_unsigned_variant_does_not_hide_a_signed_one(
    local: Store, folder: Path, key: Path, tmp_path: Path
) -> None:
    publish(folder, local, SigningKey(key))
    publish(chain(model="evil.tflite").write(tmp_path / "evil", "newer"), local)
    assert fetched_plan(local.url, public(key)).model == "chain.tflite"


def test_trust_holds_for_folders(
    disk: Path, local: Store, tmp_path: Path, key: Path, opencl_device: str
) -> None:
    folder = chain().write(tmp_path / "cache")
    for place in (folder, folder.parents[1]):
        with pytest.raises(PlanError, match="is a cache, in which nothing is signed"):
            load(place, trust=[public(key)])
        load(place, trust="anyone", device=opencl_device).close()
    publish(folder, local)
    with pytest.raises(PlanError, match="is refused, because it is not signed"):
        load(disk, trust=public(key))
    publish(folder, local, SigningKey(key))
    for place in (disk, disk / PATH):
        load(place, trust=public(key), device=opencl_device).close()


def test_keys_that_are_none(key: Path, tmp_path: Path) -> None:
    rsa, locked = tmp_path / "rsa", tmp_path / "locked"
    make = ["ssh-keygen", "-q", "-C", ""]
    subprocess.run([*make, "-t", "rsa", "-b", "2048", "-N", "", "-f", rsa], check=True)
    subprocess.run([*make, "-t", "ed25519", "-N", "words", "-f", locked], check=True)
    for path, problem in (
        (tmp_path / "none", "cannot read the key .*none: No such file"),
        (public(key), "is not a private key"),
        (rsa, "is not an ed25519 key; make one with: ssh-keygen -t ed25519"),
        (locked, "has a passphrase, and there is no terminal to ask for it; sign on a terminal"),
    ):
        with pytest.raises(StoreError, match=problem):
            SigningKey(path)
    key.chmod(0o640)
    with pytest.raises(StoreError, match=f"other users can use .*{key}; run: chmod 600 {key}"):
        SigningKey(key)
    both = tmp_path / "both.pub"
    both.write_text(2 * public(key).read_text())
    for trust, problem in (
        (both, "both.pub has several keys"),
        *((wrong, "trust=.*: give the public keys of") for wrong in (None, "", [None], 7)),
        (tmp_path / "none.pub", "cannot read the key .*none.pub"),
        (key, "is not a public key"),
        (public(rsa), "is not an ed25519 key"),
        ("everyone", "cannot read the key everyone"),
    ):
        with pytest.raises(StoreError, match=problem):
            fetched("memory://nothing", trust=trust)  # type: ignore[arg-type]


@pytest.mark.parametrize("openssh", [True, False])
def test_keys_with_a_passphrase(
    local: Store, folder: Path, tmp_path: Path, openssh: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever asks is asked once; what was answered is in no error and no log."""
    caplog.set_level(logging.DEBUG)
    locked, asked = tmp_path / "locked", []
    if openssh:
        make_key(locked, "words")
    else:
        need_programs("openssl")
        words = ["-aes256", "-pass", "pass:words"]
        make = ["openssl", "genpkey", "-algorithm", "ed25519", *words, "-out", str(locked)]
        subprocess.run(make, check=True)
    locked.chmod(0o600)

    def ask(path: Path) -> str:
        asked.append(path)
        return "words" if len(asked) == 1 else "secret"

    key = SigningKey(locked, ask)
    publish(folder, local, key)
    assert key.signed(present(local))
    with pytest.raises(
        StoreError, match=f"that is not the passphrase of the key {locked}"
    ) as wrong:
        SigningKey(locked, ask)
    assert asked == [locked, locked]
    chain_of_errors = "".join(traceback.format_exception(wrong.value))
    assert "secret" not in caplog.text + chain_of_errors


def test_private_keys_stay_where_they_are(
    local: Store, disk: Path, folder: Path, key: Path, user: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither a line of the key's file nor its bytes are in a store, a cache, a log or a repr."""
    caplog.set_level(logging.DEBUG)
    signing = SigningKey(key)
    publish(folder, local, signing)
    fetched(local.url, trust=public(key))
    secrets = [line.encode() for line in key.read_text().splitlines()[1:-1]]
    secrets += [signing._key.private_bytes_raw(), signing._key.private_bytes_raw().hex().encode()]
    written = [
        path.read_bytes() for top in (disk, user) for path in top.rglob("*.*") if path.is_file()
    ]
    seen = b"\n".join([*written, caplog.text.encode(), repr(signing).encode()])
    assert len(written) > 10 and [secret for secret in secrets if secret in seen] == []
