"""URLs of stores: telling them from paths, checking and showing them."""

import os
import re
from typing import TypeGuard

from ..errors import StoreError

# Protocol, user and host, path.
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+://)([^/?#]*)([^?#]*)")


def is_url(place: str | os.PathLike[str]) -> TypeGuard[str]:
    """Whether a place is a URL, and not a path of this machine."""
    return isinstance(place, str) and _URL.match(place) is not None


def check_url(url: str) -> None:
    """StoreError if a URL names no place, or no path can follow its query or fragment."""
    match = _URL.match(url)
    if match and not (match[2] + match[3]).strip("/"):
        raise StoreError(f"{url} names no place; give the whole URL of a store")
    if "?" in url or "#" in url:
        raise StoreError(
            f"the URL of {without_password(url)} has a query or a fragment (? or #), but that of a "
            f"store ends with its path; credentials go into the configuration of fsspec"
        )


def without_password(url: str) -> str:
    """A URL as it may be shown: without its password and its query, in which secrets may be.

    >>> without_password("https://user:secret@host:8080/models?token=secret")
    'https://user@host:8080/models'
    """
    match = _URL.match(url)
    if match is None:
        return url
    protocol, authority, path = match.groups()
    user, at, host = authority.rpartition("@")
    return f"{protocol}{user.partition(':')[0]}{at}{host}{path}"


def password(url: str) -> str:
    """The password in a URL, as it is written there; empty if there is none."""
    match = _URL.match(url)
    return match[2].rpartition("@")[0].partition(":")[2] if match else ""
