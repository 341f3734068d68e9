"""Where a run puts its variants: a cache folder, or a store at a URL."""

from __future__ import annotations

import os
from pathlib import Path

from ...runtime.remote.keys import Ask, SigningKey
from ...runtime.remote.store import Store
from ...runtime.remote.url import is_url
from ..errors import OptionError
from .place import Place
from .place_folder import Folder
from .place_remote import Remote


def place(
    cache: str | os.PathLike[str], sign: str | os.PathLike[str] = "", ask: Ask | None = None
) -> Place:
    """The place that a path or a URL means; `sign` is the file of a key for a store.

    `ask` asks for the key's passphrase, if it has one.
    OptionError if a key is given for a folder, StoreError if the store or the key cannot be used.
    """
    if is_url(cache):
        store = Store(cache)
        store.check_writable()
        return Remote(store, SigningKey(sign, ask) if sign else None)
    if sign:
        raise OptionError(f"{os.fspath(cache)} is a folder; only what goes to a URL is signed")
    return Folder(Path(cache))
