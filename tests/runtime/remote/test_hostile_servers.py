"""Servers that do not answer, answer without end, or as slowly as they can."""

import asyncio
import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from devices import need_packages
from published_files import PATH, fetched, files_on, only_one
from servers import odd_server

from tflgpu.runtime import CacheWarning, PlanError, StoreError, load
from tflgpu.runtime.remote import transfer
from tflgpu.runtime.remote.fetch import fetch
from tflgpu.runtime.remote.keys import SigningKey
from tflgpu.runtime.remote.publish import publish
from tflgpu.runtime.remote.store import Store

TIMEOUT = 0.25  # Seconds for servers of this machine, so that tests are short.
LARGEST = 1 << 20  # Bytes of a listing.

Send = Callable[[bytes], None]


def ok(length: int | None = None, kind: str = "text/html") -> bytes:
    size = "" if length is None else f"Content-Length: {length}\r\n"
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{size}\r\n".encode()


def silent(path: str, send: Send) -> None:
    time.sleep(20 * TIMEOUT)


def silent_after_headers(path: str, send: Send) -> None:
    send(ok(1000))
    time.sleep(20 * TIMEOUT)


def slow(path: str, send: Send) -> None:
    send(ok(100_000))
    while True:
        send(b"x")
        time.sleep(TIMEOUT / 10)


def redirecting(path: str, send: Send) -> None:
    time.sleep(TIMEOUT / 5)
    send(b"HTTP/1.1 302 Found\r\nLocation: /" + b"x" * len(path) + b"\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.parametrize("count", [1000, 1 << 17])
def test_names_without_files(local: Store, disk: Path, folder: Path, count: int) -> None:
    """The first one that is missing ends it, and there is a limit to names."""
    publish(folder, local)
    path = disk / PATH / "manifest.json"
    found = json.loads(path.read_bytes())
    file = {"size": 3, "sha256": "0" * 64}
    found["manifest"]["files"] |= {f"kernels/x{n}": file for n in range(count)}
    path.write_text(json.dumps(found))
    asked = []

    def served(path: str, send: Send) -> None:
        asked.append(path)
        from_disk(disk)(path, send)

    with odd_server(served) as url, pytest.raises(PlanError, match=r"is missing|more than 65536"):
        fetched(url)
    assert len(asked) < 100


def test_endless_redirects() -> None:
    def served(path: str, send: Send) -> None:
        send(b"HTTP/1.1 302 Found\r\nLocation: /\r\nConnection: close\r\n\r\n")

    with odd_server(served) as url, pytest.raises(StoreError) as caught:
        load(url, trust="anyone")
    assert str(caught.value) == f"cannot list {url}: TooManyRedirects"


def missing(path: str, send: Send) -> None:
    send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")


def asking_to_sign_in(path: str, send: Send) -> None:
    """The page that a hotel's network gives for whatever is asked."""
    body = b'<a href="/sign-in">Welcome! Sign in to use this network.</a>'
    send(ok(len(body)) + body)


def zipped(path: str, send: Send) -> None:
    """A gigabyte, if it is decompressed."""
    body = gzip.compress(bytes(1 << 20)) * 1024
    send(ok(len(body)).replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n") + body)


ANSWERS = [silent, silent_after_headers, slow, redirecting, zipped, missing, asking_to_sign_in]


@pytest.mark.parametrize("answer", ANSWERS)
def test_the_copy_is_used(local: Store, disk: Path, folder: Path, key: Path, answer: Any) -> None:
    """After the time that was given, with a warning; without a copy, that is an error."""
    publish(folder, local, SigningKey(key))
    trust, honest = key.with_suffix(".pub"), [True]

    def served(path: str, send: Send) -> None:
        (from_disk(disk) if honest[0] else answer)(path, send)

    with odd_server(served) as url:
        first = fetched(url, trust=trust)
        honest[0] = False
        began = time.monotonic()
        no_store = "(cannot .*|there is no store at)"
        for place in (url, f"{url}/{PATH}"):
            with pytest.warns(CacheWarning, match=rf"{no_store} {url}.*; {first}, fetched before"):
                assert fetch(place, None, trust, only_one, TIMEOUT) == first
            with pytest.raises(StoreError, match=f"{no_store} {url}"):
                load(place, "other.tflite", trust=trust, timeout=TIMEOUT)
    assert time.monotonic() - began < 12 * TIMEOUT


def test_a_download_may_take_its_time(
    local: Store, disk: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Longer than the time in which it must begin, if it is not too slow."""
    monkeypatch.setattr(transfer, "FLOOR", 1)
    publish(folder, local)
    weights = files_on(disk, local) / "weights.bin"

    def served(path: str, send: Send) -> None:
        if not path.endswith("weights.bin"):
            return from_disk(disk)(path, send)
        content = weights.read_bytes()
        send(ok(len(content)))
        for start in range(0, len(content), step := -(-len(content) // 20)):
            time.sleep(TIMEOUT / 5)
            send(content[start : start + step])

    with odd_server(served) as url:
        copy = fetch(url, None, "anyone", only_one, 2 * TIMEOUT)
    assert (copy / "weights.bin").read_bytes() == weights.read_bytes()


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), None, "10"])
def test_times_that_are_none(timeout: Any) -> None:
    with pytest.raises(StoreError, match=r"timeout=.*: give a number of seconds"):
        load("memory://models", timeout=timeout)


def endless_page(path: str, send: Send) -> None:
    send(ok())
    while True:
        send(b'<a href="abc">' * 1000)


def endless_xml(path: str, send: Send) -> None:
    send(ok(kind="application/xml") + b"<ListBucketResult><Name>models</Name>")
    while True:
        send(b"<Contents><Key>abc</Key></Contents>" * 1000)


def endless_pages(path: str, send: Send) -> None:
    """Each says that there are more."""
    more = b"<NextContinuationToken>x</NextContinuationToken>"
    keys = b"<Contents><Key>abc</Key><Size>1</Size></Contents>" * 1000
    page = b"<IsTruncated>true</IsTruncated>" + more + keys
    body = b"<ListBucketResult>" + page + b"</ListBucketResult>"
    send(ok(len(body), "application/xml") + body)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store._transfer, "__defaults__", (LARGEST,))
    monkeypatch.setattr(Store._get, "__defaults__", (LARGEST,))


@pytest.mark.usefixtures("short")
def test_endless_listings_by_http() -> None:
    with odd_server(endless_page) as url, pytest.raises(StoreError, match=TOO_LONG):
        Store(url).names("folder")


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("answer", [endless_xml, endless_pages])
def test_endless_listings_by_s3(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    need_packages("s3fs")
    with odd_server(answer) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        with pytest.raises(StoreError, match=TOO_LONG):
            Store("s3://models").names("folder")


@pytest.mark.usefixtures("short")
def test_endless_listings_by_sftp(home: Path) -> None:
    with endless_sftp(home) as url, pytest.raises(StoreError, match=TOO_LONG):
        Store(url).names("folder")


def test_a_page_that_is_slow_to_search() -> None:
    """fsspec's own pattern for links takes an hour for it."""
    page = b"<a" + b" " * 10_000 + b'<a href="/folder/a%2Bb/?C=N#top">a+b</a>' + b"<A HREF='../'>"
    with odd_server(lambda path, send: send(ok(len(page)) + page)) as url:
        assert Store(url).names("folder") == ["a+b"]


def test_nothing_is_decompressed() -> None:
    """What is sent compressed, though that was not asked for, is no answer."""
    with odd_server(zipped) as url:
        for doing in (Store(url).names, lambda: Store(url).read("manifest.json")):
            with pytest.raises(StoreError, match=rf"cannot .* {url}.*compresses it \('gzip'\)"):
                doing()


TOO_LONG = rf"cannot list .*folder: it has more than {LARGEST} bytes"


def from_disk(folder: Path) -> Callable[[str, Send], None]:
    """An honest server of a folder."""

    def served(path: str, send: Send) -> None:
        place = folder / path.strip("/")
        if not place.exists():
            return send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        links = [f'<a href="{each.name}">' for each in place.iterdir()] if place.is_dir() else []
        body = "".join(links).encode() if place.is_dir() else place.read_bytes()
        send(ok(len(body)) + body)

    return served


@contextmanager
def endless_sftp(home: Path) -> Iterator[str]:
    """A server of SFTP whose folders have no end; it takes whoever knows it."""
    need_packages("asyncssh", "sshfs")
    import asyncssh

    class Endless(asyncssh.SFTPServer):
        async def scandir(self, path: bytes) -> Any:
            while True:
                yield asyncssh.SFTPName(b"x" * 200, attrs=asyncssh.SFTPAttrs(permissions=0o100644))

    connections: list[Any] = []

    class Open(asyncssh.SSHServer):
        def connection_made(self, connection: Any) -> None:
            connections.append(connection)

        def begin_auth(self, username: str) -> bool:
            return False

    host, stop = asyncssh.generate_private_key("ssh-ed25519"), asyncio.Event()
    started: Future[tuple[asyncio.AbstractEventLoop, int]] = Future()

    async def serve() -> None:
        options = {"server_host_keys": [host], "sftp_factory": Endless, "server_factory": Open}
        async with asyncssh.listen("127.0.0.1", 0, **options) as server:
            started.set_result((asyncio.get_running_loop(), server.get_port()))
            await stop.wait()
            for connection in connections:
                connection.abort()
                await connection.wait_closed()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    loop, port = started.result(20)
    known = home / ".ssh" / "known_hosts"
    known.parent.mkdir(mode=0o700, exist_ok=True)
    before = known.read_text() if known.exists() else ""
    known.write_text(f"{before}[127.0.0.1]:{port} {host.export_public_key().decode()}")
    try:
        yield f"sftp://somebody@127.0.0.1:{port}/store"
    finally:
        known.write_text(before)
        loop.call_soon_threadsafe(stop.set)
        thread.join()
