"""The protocols by which stores are reached: what each can do, and its options for fsspec."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from .transfer import CURRENT

SSH = ("sftp", "ssh")  # Protocols of sshfs.
DISK = ("file", "local")  # Protocols of this machine's disk.

# Protocols by which what is written appears as a whole, once all of it is there.
OBJECTS = ("s3", "s3a", "gs", "gcs")

READ_ONLY = ("http", "https")  # Protocols by which nothing can be written.


class Compressed(Exception):
    """An answer by HTTP is compressed, though that was not asked for: it may become any size."""


def settings(protocol: str, timeout: float, users: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a file system of fsspec, of which the user may have configured some."""
    return _merged(_own(protocol, timeout), users)


def _own(protocol: str, timeout: float) -> dict[str, Any]:
    """Those with which nothing is read or waited for without end."""
    if protocol in DISK:
        return {"auto_mkdir": True}
    if protocol in SSH:
        # Checks the server's key against ~/.ssh/known_hosts, which sshfs leaves out by default.
        return {"known_hosts": (), "connect_timeout": timeout, "keepalive_interval": timeout}
    if protocol in ("s3", "s3a"):
        limits = {"connect_timeout": timeout, "read_timeout": timeout}
        return {"config_kwargs": {**limits, "http_session_cls": _limited_s3()}}
    if protocol in READ_ONLY:
        from aiohttp import ClientTimeout

        # Otherwise a download ends after five minutes, and a few bytes may become gigabytes.
        plain = {"auto_decompress": False, "headers": {"Accept-Encoding": "identity"}}
        checks = {"timeout": ClientTimeout(total=None), "raise_for_status": _check_uncompressed}
        return {"client_kwargs": {**checks, **plain}}
    return {}


def _merged(ours: Mapping[str, Any], users: Mapping[str, Any]) -> dict[str, Any]:
    """Options, of which those that the user configured for fsspec come first."""
    nested = {
        key: _merged(ours[key], value)
        for key, value in users.items()
        if isinstance(value, Mapping) and isinstance(ours.get(key), Mapping)
    }
    return {**ours, **users, **nested}


async def _check_uncompressed(response: Any) -> None:
    """Compressed if the content of aiohttp's response is; errors are left to fsspec."""
    coding = response.headers.get("Content-Encoding", "identity").lower()
    if response.ok and coding != "identity":
        response.close()
        raise Compressed(f"the server compresses it ({coding!r}), though that was not asked for")


@cache
def _limited_s3() -> type:
    """The class of aiobotocore's connections with limits, also for listings and errors."""
    from aiobotocore.httpsession import AIOHTTPSession

    class Limited(AIOHTTPSession):  # type: ignore[misc]
        async def send(self, request: Any) -> Any:
            transfer = CURRENT.get(None)
            if transfer is None:  # of whoever writes
                return await super().send(request)
            streams, request.stream_output = request.stream_output, True
            response = await super().send(request)
            if not streams or response.status_code >= 300:
                content = bytearray()
                async for part in response.raw.content.iter_any():
                    transfer.arrived(len(part))
                    content += part
                response._content = bytes(content)
            return response

    return Limited
