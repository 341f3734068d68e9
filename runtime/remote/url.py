"""URLs of stores: telling them from paths, and showing them."""

from __future__ import annotations

import os
import re
from typing import TypeGuard

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_url(place: str | os.PathLike[str]) -> TypeGuard[str]:
    """Whether a place is a URL, and not a path of this machine."""
    return isinstance(place, str) and _URL.match(place) is not None


def without_password(url: str) -> str:
    """A URL as it may be shown."""
    # Imported here because paths are checked, too, while a model is loaded.
    from urllib.parse import urlsplit, urlunsplit

    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=user.partition(":")[0] + at + host))


def password(url: str) -> str:
    """The password in a URL, as it is written there; empty if there is none."""
    from urllib.parse import urlsplit

    return urlsplit(url).netloc.rpartition("@")[0].partition(":")[2]
