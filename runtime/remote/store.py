"""A store: a folder at a URL, and what can be done with its files. fsspec reaches it.

Every failure is a StoreError that names the URL, and never a password in it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from ..errors import PlanError, StoreError, TflgpuError
from .stamps import new_temporary
from .url import check_url, password, without_password

CONNECTIONS = 16
"""How many files are asked for at a time."""

LARGEST_TEXT = 1 << 26
"""Bytes of a manifest or a file of an index."""

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "file": {"auto_mkdir": True},
    "local": {"auto_mkdir": True},
    # Checks the server's key against ~/.ssh/known_hosts, which sshfs leaves out by default.
    "sftp": {"known_hosts": (), "connect_timeout": 15},
    "ssh": {"known_hosts": (), "connect_timeout": 15},
}
"""Options of fsspec's file systems; those that the user configured for fsspec come first."""

SSH = ("sftp", "ssh")
"""Protocols of sshfs."""

DISK = ("file", "local")
"""Protocols of this machine's disk."""

OBJECTS = ("s3", "s3a", "gs", "gcs")
"""Protocols by which what is written appears as a whole, once all of it is there."""

READ_ONLY = ("http", "https")
"""Protocols by which nothing can be written."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Store:
    """An open store. Paths are relative to its URL, with slashes.

    Its methods raise StoreError if the store cannot be reached, or denies what they do.
    """

    def __init__(self, url: str) -> None:
        """Connect to a store, which need not exist yet."""
        self.url = without_password(url).rstrip("/")
        """For display."""
        check_url(url)
        try:
            import fsspec
        except ImportError as error:
            raise StoreError(
                f"{self.url} needs fsspec, which is not installed; "
                f"install it with: pip install 'tflgpu[stores]'"
            ) from error
        protocol = url.partition("://")[0].lower()
        settings = {**SETTINGS.get(protocol, {}), **fsspec.config.conf.get(protocol, {})}
        self._protocol = protocol
        self._password = password(url)
        with self._reported("open", ""):
            # An instance of its own: one that lost its connection would be of no use to the next.
            self._files, root = fsspec.core.url_to_fs(url, skip_instance_cache=True, **settings)
        self._root = root.rstrip("/")

    def at(self, path: str) -> str:
        """The URL of a path, for display."""
        return f"{self.url}/{path}" if path else self.url

    def check_writable(self) -> None:
        """StoreError if nothing can be written by the URL's protocol."""
        if self._protocol in READ_ONLY:
            raise StoreError(f"{self.url} is for reading only; write to the store by another URL")

    def check_exists(self) -> None:
        """StoreError if there is no such store, on those that are a folder."""
        if self._protocol in (*DISK, *SSH):
            with self._reported("read", ""):
                if not self._files.isdir(self._path("")):
                    raise StoreError(f"cannot read {self.url}: there is no such folder")

    def names(self, path: str = "") -> list[str]:
        """The names in a folder, sorted; none if there is no such folder."""
        with self._reported("list", path), suppress(FileNotFoundError):
            self._files.invalidate_cache()
            found = self._files.ls(self._path(path), detail=False)
            return sorted({name.rstrip("/").rpartition("/")[2] for name in found})
        return []

    def sizes(self, path: str) -> dict[str, int]:
        """The bytes of each file below a folder, by its path in there."""
        with self._reported("list", path), suppress(FileNotFoundError):
            self._files.invalidate_cache()
            start = self._path(path)
            found = self._files.find(start, detail=True)
            return {
                name[name.index(start) + len(start) + 1 :]: int(info["size"])
                for name, info in found.items()
            }
        return {}

    def read(self, path: str, limit: int = LARGEST_TEXT) -> bytes | None:
        """The content of a file; None if there is no such file.

        PlanError if it has more than `limit` bytes, of which no more are read.
        """
        with tempfile.TemporaryDirectory(prefix="tflgpu-") as temporary:
            copy = Path(temporary) / "content"
            return copy.read_bytes() if self._copy(path, copy, limit) else None

    def download(self, files: Mapping[str, tuple[Path, int]]) -> list[str]:
        """Copy files of the store to paths of this machine; returns those that do not exist.

        PlanError if one has more bytes than the number given with its path.
        """
        found = self.each(lambda path: self._copy(path, *files[path]), list(files))
        return [path for path, present in zip(files, found, strict=True) if not present]

    def _copy(self, path: str, to: Path, limit: int) -> bool:
        """Copy a file of at most `limit` bytes to this machine; False if it does not exist."""
        from fsspec.callbacks import Callback

        def check(_: int | None, size: int, **others: Any) -> None:
            if size > limit:
                raise PlanError(f"{self.at(path)} has more than {limit} bytes; publish it again")

        source = self._path(path)
        with self._reported("read", path), suppress(FileNotFoundError):
            if self._protocol in DISK:  # where fsspec calls nothing back
                check(None, self._files.size(source))
            self._files.get_file(source, str(to), callback=Callback(hooks={"limit": check}))
            return True
        return False

    def upload(self, files: Mapping[str, Path]) -> None:
        """Copy files of this machine into the store, with the folders that they need."""
        self.check_writable()

        def copy(path: str) -> None:
            with self._reported("write", path):
                self._files.put_file(str(files[path]), self._path(path))

        self.each(copy, list(files))

    def replace(self, path: str, content: bytes, temporary: str = "") -> None:
        """Write a file, or replace it; the new content appears whole or not at all.

        It is written to another path first, by default beside it, unless the store sees to that.
        """
        self.check_writable()
        if self._protocol in OBJECTS:
            with self._reported("write", path):
                self._files.pipe_file(self._path(path), content)
            return
        folder, _, name = path.rpartition("/")
        temporary = temporary or f"{folder}/{new_temporary(name)}".lstrip("/")
        try:
            with self._reported("write", path):
                self._files.pipe_file(self._path(temporary), content)
                self._files.mv(self._path(temporary), self._path(path))
        except BaseException:
            with suppress(Exception):
                self._files.rm_file(self._path(temporary))
            raise

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it, if it exists."""
        self.check_writable()
        with self._reported("remove", path), suppress(FileNotFoundError):
            self._files.rm(self._path(path), recursive=True)

    def remove_if_empty(self, folder: str) -> None:
        """Remove a folder that holds nothing, on stores that have folders."""
        # sshfs inherits a `rmdir` that does nothing; its `rm` removes an empty folder.
        remove = self._files.rm if self._protocol in SSH else self._files.rmdir
        with suppress(Exception):
            remove(self._path(folder))

    def each(self, act: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
        """What a function returns for each item, computed for several at a time."""
        with ThreadPoolExecutor(CONNECTIONS, "store") as threads:
            return list(threads.map(act, items))

    def _path(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root or "/"

    @contextmanager
    def _reported(self, doing: str, path: str) -> Iterator[None]:
        try:
            yield
        except TflgpuError:
            raise
        # Each protocol has exceptions of its own, and few of them are an OSError.
        except Exception as error:
            reason = _reason(error)
            if self._password:
                reason = reason.replace(self._password, "...")
            raise StoreError(f"cannot {doing} {self.at(path)}: {reason}") from error


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
