"""Fixtures of tests of stores."""

from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from devices import unavailable
from plans import chain
from servers import SSHD, gs_server, make_key, s3_server, sftp_server

from tflgpu.runtime.remote.store import Store

BUCKET = "models"


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home folder of a user whom the SFTP server of `sftp` knows."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def user(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's caches, which is empty at first."""
    caches = tmp_path / "caches"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(caches))
    monkeypatch.setenv("POCL_CACHE_DIR", str(home / "pocl"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "of the emulation")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    return caches


@pytest.fixture(scope="session")
def sftp(home: Path) -> Iterator[str]:
    """The URL of the root of a real OpenSSH server."""
    if SSHD is None:
        unavailable("not installed: OpenSSH's server")
    with sftp_server(home) as root:
        yield root


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The address of an emulation of S3."""
    with s3_server(BUCKET) as address:
        yield address


@pytest.fixture
def gs(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of a store that does not exist yet, in an emulation of Google's storage."""
    # Otherwise gcsfs asks Google of which kind the bucket is.
    monkeypatch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
    with gs_server(BUCKET) as address:
        settings = {"token": "anon", "endpoint_url": address}
        monkeypatch.setitem(fsspec.config.conf, "gs", settings)
        yield f"gs://{BUCKET}/store"


@pytest.fixture(params=["memory", "file", "sftp", "s3"])
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a store that does not exist yet, by each protocol that can write."""
    if request.param == "memory":
        return f"memory://{tmp_path.name}"
    if request.param == "sftp":
        return f"{request.getfixturevalue('sftp')}{tmp_path}/store"
    if request.param == "s3":
        monkeypatch.setenv("AWS_ENDPOINT_URL", request.getfixturevalue("s3"))
        return f"s3://{BUCKET}/{tmp_path.name}"
    return (tmp_path / "store").as_uri()


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """The folder of `local`."""
    return tmp_path / "store"


@pytest.fixture
def local(disk: Path) -> Store:
    """A store on this machine's disk."""
    return Store(disk.as_uri())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A variant in a cache."""
    return chain().write(tmp_path / "cache")


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """The file of a private key; the public key is beside it, in key.pub."""
    return make_key(tmp_path / "key")
