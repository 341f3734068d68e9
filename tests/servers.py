"""Servers of stores, on the loopback, each for as long as a `with` block."""

import functools
import getpass
import http.server
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from devices import need_packages, need_programs

SECONDS_TO_START = 20

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")


def make_key(path: Path, passphrase: str = "") -> Path:
    """A private key of ssh-keygen, with its public key beside it."""
    need_programs("ssh-keygen")
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "", "-f", str(path)]
    subprocess.run(command, check=True)
    return path


@contextmanager
def sftp_server(home: Path, *options: str) -> Iterator[str]:
    """OpenSSH's server for this user; yields the URL of its root.

    `home` becomes the home folder of a client whom it knows and who knows it; `options` are those
    of sftp-server(8).
    """
    keys, port = home / ".ssh", _free_port()
    keys.mkdir(mode=0o700, exist_ok=True)
    host, client = make_key(home / "host"), make_key(keys / "id_ed25519")
    known = f"[127.0.0.1]:{port} {host.with_suffix('.pub').read_text()}"
    (keys / "known_hosts").write_text(known)
    (home / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {host}\nPidFile none\n"
        f"AuthorizedKeysFile {client}.pub\nStrictModes no\nUsePAM no\n"
        f"Subsystem sftp {' '.join(('internal-sftp', *options))}\n"
    )
    assert SSHD is not None
    if os.geteuid() == 0:
        # What the service of Debian's package does; other users' servers do not need it.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    # It starts itself for each connection, so it must be given by its full path.
    server = subprocess.Popen(
        [SSHD, "-D", "-f", str(home / "sshd_config"), "-E", str(home / "log")],
        stdin=subprocess.DEVNULL,
    )
    try:
        _wait_for(port, server)
        yield f"sftp://{getpass.getuser()}@127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


@contextmanager
def http_server(folder: Path) -> Iterator[str]:
    """Python's own server of a folder, which lists folders as pages of links."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments: Any) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def odd_server(answer: Callable[[str, Callable[[bytes], None]], None]) -> Iterator[str]:
    """A server of HTTP that answers each path by a function, which sends bytes as it likes.

    A connection ends when the function returns, and the function when its client has gone.
    """

    def served(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            path = connection.recv(1 << 16).split(b" ")[1].decode()
            answer(path, connection.sendall)

    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection = listening.accept()[0]
                    threading.Thread(target=served, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)


@contextmanager
def s3_server(bucket: str) -> Iterator[str]:
    """moto's emulation of S3 with a bucket; yields its address, for AWS_ENDPOINT_URL."""
    need_packages("moto", "s3fs")
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    try:
        boto3.client("s3", endpoint_url=address, region_name="us-east-1").create_bucket(
            Bucket=bucket
        )
        yield address
    finally:
        server.stop()


@contextmanager
def gs_server(bucket: str) -> Iterator[str]:
    """An emulation of Google's storage with a bucket; yields its address."""
    need_packages("gcp_storage_emulator", "gcsfs")
    from gcp_storage_emulator.server import create_server

    port = _free_port()
    server = create_server("localhost", port, in_memory=True, default_bucket=bucket)
    server.start()
    try:
        yield f"http://localhost:{port}"
    finally:
        server.stop()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < end and server.poll() is None:
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError(f"the server did not start; its exit code is {server.poll()}")
