"""A store: a folder at a URL, and what can be done with its files. fsspec reaches it.

Every failure is a StoreError that names the URL, and never a password in it.
"""

import math
import re
import tempfile
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

from ..errors import PlanError, StoreError, TflgpuError
from .protocols import DISK, OBJECTS, READ_ONLY, SSH, settings
from .stamps import new_temporary
from .transfer import TooLong, Transfer
from .url import check_url, password, without_password

CONNECTIONS = 16  # How many files are asked for at a time.
LARGEST_TEXT = 1 << 26  # Bytes of a manifest, a file of an index or a listing of a folder.

# Seconds in which an answer must begin, unless whoever asks says otherwise; see `Transfer`.
TIMEOUT = 60.0

_LINK = re.compile(rb"""href\s{0,8}=\s{0,8}["']([^"'?#>]{1,1024})""", re.IGNORECASE)

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Store:
    """An open store. Paths are relative to its URL, with slashes.

    Its methods raise StoreError if the store cannot be reached, or denies what they do.
    """

    def __init__(self, url: str, timeout: float = TIMEOUT) -> None:
        """Connect to a store, which need not exist yet.

        `timeout` is that of each `Transfer`. It applies where fsspec does not wait for answers
        itself: to all protocols of the documentation but a folder, whose system decides.
        """
        self.url = without_password(url).rstrip("/")  # For display.
        check_url(url)
        try:
            import fsspec
        except ImportError as error:
            raise not_installed(self.url, "fsspec") from error
        protocol = url.partition("://")[0].lower()
        if not isinstance(timeout, (int, float)) or not 0 < timeout < math.inf:
            raise StoreError(f"timeout={timeout!r}: give a number of seconds")
        self._protocol = protocol
        self._password = password(url)
        self._timeout = float(timeout)
        with self._reported("open", ""):
            options = settings(protocol, timeout, fsspec.config.conf.get(protocol, {}))
            # An instance of its own: one that lost its connection would be of no use to the next.
            self._files, root = fsspec.core.url_to_fs(url, skip_instance_cache=True, **options)
        self._root = root.rstrip("/")

    def at(self, path: str) -> str:
        """The URL of a path, for display."""
        return f"{self.url}/{path}" if path else self.url

    def check_writable(self) -> None:
        """StoreError if nothing can be written by the URL's protocol."""
        if self._protocol in READ_ONLY:
            raise StoreError(f"{self.url} is for reading only; write to the store by another URL")

    def names(self, path: str = "") -> list[str]:
        """The names in a folder, sorted; none if there is no such folder."""
        if self._protocol not in READ_ONLY:
            return sorted(self._listing(path))
        with self._reported("list", path), tempfile.TemporaryDirectory(prefix="tflgpu-") as folder:
            page = Path(folder) / "page"
            links = _LINK.findall(page.read_bytes()) if self._get(f"{path}/", page) else []
        names = {unquote(link.decode("latin-1")).rstrip("/").rpartition("/")[2] for link in links}
        return sorted(names - {"", ".", ".."})

    def sizes(self, paths: Iterable[str]) -> dict[str, int]:
        """The bytes of those of the files that are there, by path."""
        wanted = set(paths)
        folders = sorted({path.rpartition("/")[0] for path in wanted})
        listings = zip(folders, self.each(self._listing, folders), strict=True)
        found = {
            f"{folder}/{name}": size for folder, sizes in listings for name, size in sizes.items()
        }
        return {path: found[path] for path in wanted & found.keys()}

    def _listing(self, path: str) -> dict[str, int]:
        """The bytes of each file in a folder, by name; those of a folder in it mean nothing."""
        transfer = self._transfer()
        with self._reported("list", path), suppress(FileNotFoundError):
            if self._protocol in SSH:
                return self._wait(transfer, self._scan(transfer, self._path(path)))
            self._files.invalidate_cache()
            found = self._ask(transfer, "ls", self._path(path), detail=True)
            return {
                info["name"].rstrip("/").rpartition("/")[2]: info["size"] or 0 for info in found
            }
        return {}

    def read(self, path: str, limit: int = LARGEST_TEXT) -> bytes | None:
        """The content of a file; None if there is none (PlanError if it is longer than `limit`)."""
        with tempfile.TemporaryDirectory(prefix="tflgpu-") as temporary:
            copy = Path(temporary) / "content"
            return copy.read_bytes() if self._copy(path, copy, limit) else None

    def download(self, files: Mapping[str, tuple[Path, int]]) -> None:
        """Copy files of the store to paths of this machine.

        PlanError if one is missing, or has more bytes than the number given with its path; then no
        others are asked for.
        """

        def copy(path: str) -> None:
            if not self._copy(path, *files[path]):
                raise PlanError(f"{self.at(path)} is missing; publish the variant again")

        self.each(copy, list(files))

    def _copy(self, path: str, to: Path, limit: int) -> bool:
        """Copy a file of at most `limit` bytes to this machine; False if it does not exist."""
        with self._reported("read", path):
            try:
                return self._get(path, to, limit)
            except TooLong as error:
                raise PlanError(f"{self.at(path)}: {error}; publish it again") from error
            except Exception as error:
                if self._protocol in SSH and self._is_folder(path):
                    raise self._folder(path) from error
                raise

    def _get(self, path: str, to: Path, limit: int = LARGEST_TEXT) -> bool:
        """What `_copy` does (any exception)."""
        from fsspec.callbacks import Callback

        transfer, source = self._transfer(limit), self._path(path)
        with suppress(FileNotFoundError):
            if self._protocol in DISK:  # where fsspec calls nothing back
                transfer.arrived(self._files.size(source))
            callback = Callback(hooks={"limit": transfer.reached})
            self._ask(transfer, "get_file", source, str(to), callback=callback)
            if to.is_dir():  # fsspec makes an empty folder of one
                raise self._folder(path)
            return True
        return False

    def _is_folder(self, path: str) -> bool:
        return bool(self._ask(self._transfer(), "isdir", self._path(path)))

    def _folder(self, path: str) -> PlanError:
        return PlanError(f"{self.at(path)} is a folder instead of a file; remove it")

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
                if self._is_folder(path):  # into which it would be moved
                    raise self._folder(path)
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
        """What a function returns for each item, several at a time, until it raises."""
        failures: list[BaseException] = []

        def attempt(item: _Item) -> _Result:
            if failures:
                raise failures[0]
            try:
                return act(item)
            except BaseException as error:
                failures.append(error)
                raise

        with ThreadPoolExecutor(CONNECTIONS, "store") as threads:
            return list(threads.map(attempt, items))

    async def _scan(self, transfer: Transfer, path: str) -> dict[str, int]:
        """The bytes of what a folder has, by name, over SSH, where sshfs reads it to its end."""
        from asyncssh import SFTPNoSuchFile

        found = {}
        with suppress(SFTPNoSuchFile):
            async with self._files._pool.get() as channel:
                async for entry in channel.scandir(path):
                    found[entry.filename] = entry.attrs.size or 0
                    transfer.arrived(len(entry.filename))
        return {name: size for name, size in found.items() if name not in (".", "..")}

    def _transfer(self, limit: int = LARGEST_TEXT) -> Transfer:
        return Transfer(limit, self._timeout)

    def _ask(self, transfer: Transfer, method: str, *arguments: Any, **options: Any) -> Any:
        """What a method of the file system returns (any exception)."""
        if not self._files.async_impl:
            return getattr(self._files, method)(*arguments, **options)
        return self._wait(transfer, getattr(self._files, f"_{method}")(*arguments, **options))

    def _wait(self, transfer: Transfer, answer: Coroutine[Any, Any, _Result]) -> _Result:
        from fsspec.asyn import sync

        found: _Result = sync(self._files.loop, transfer.result, answer)
        return found

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


def not_installed(what: str, package: str) -> StoreError:
    """The error for what needs a package of the extra `stores` that is not there."""
    return StoreError(
        f"{what} needs {package}, which is not installed; "
        f"install it with: pip install 'tflgpu[stores]'"
    )


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    # Those of aiohttp have a message beside status and URL; that of too many redirects is empty.
    return str(getattr(error, "message", error)) or type(error).__name__
