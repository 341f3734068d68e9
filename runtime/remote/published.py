"""Which variants a store holds, as their manifests say. No other file is read for that."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ..cache.folder import SHOWN_DIGITS, is_fingerprint, meant_models
from ..errors import PlanError, StoreError
from .index import Record, record_of, records
from .ledger import INDEX, Ledger
from .manifest import MANIFEST, NewerFormatError, Publication, from_bytes, is_variant
from .store import Store
from .url import check_url


@dataclass(frozen=True)
class Entry:
    path: str  # Its folder in the store: <model fingerprint>/<variant>.
    publication: Publication | None  # None if it cannot be relied on.
    problem: str = ""  # Why it cannot.
    newer: bool = False  # Whether that is because a newer version of tflgpu published it.

    @property
    def model(self) -> str:
        """The model file's name; "" if that is not known."""
        return self.publication.manifest.model if self.publication else ""

    @property
    def size(self) -> int:
        """Bytes of its files; 0 if that is not known."""
        return self.publication.manifest.size if self.publication else 0

    @property
    def published(self) -> float:
        """When it was put into the store (Unix time); 0 if that is not known."""
        return self.publication.published if self.publication else 0


@dataclass(frozen=True)
class Address:
    """What a URL means: a store, the variants of a model in it, or one variant."""

    store: str
    fingerprint: str = ""
    variant: str = ""
    model: str | os.PathLike[str] | None = None  # The model that is meant, as in `tflgpu.load`.


def address(url: str, model: str | os.PathLike[str] | None = None) -> Address:
    """A URL, taken apart (StoreError if it has a query or a fragment).

    >>> address("s3://models/" + "ab" * 32 + "/opencl-f32-mali-a20d7aa81cd8").variant
    'opencl-f32-mali-a20d7aa81cd8'
    """
    check_url(url)
    url = url.rstrip("/")
    above, _, last = url.rpartition("/")
    if is_fingerprint(last):
        return Address(above, last, model=model)
    store, _, middle = above.rpartition("/")
    if is_fingerprint(middle):
        return Address(store, middle, last, model)
    return Address(url, model=model)


def published(store: Store, fingerprint: str, variant: str) -> Publication | None:
    """What a store holds under a name; None if nothing (PlanError if it is damaged, StoreError)."""
    path = f"{fingerprint}/{variant}"
    source = store.at(f"{path}/{MANIFEST}")
    content = store.read(f"{path}/{MANIFEST}")
    if content is None:
        return None
    found = from_bytes(content, source)
    if found.manifest.path != path:
        raise PlanError(
            f"{source} is refused, because it is the manifest of another variant, "
            f"{found.manifest.path}; publish {variant} again"
        )
    return found


def entries(store: Store) -> list[Entry]:
    """All variants in a store, sorted by path (StoreError)."""
    models = filter(is_fingerprint, store.names())
    found = store.each(lambda model: _variants(store, model), models)
    return _entries(store, [path for paths in found for path in paths])


def listed(store: Store) -> list[Record]:
    """All variants, sorted by path, as the index has them, or else `entries` (PlanError)."""
    found = records(store)
    if found:
        return found
    return [record_of(entry.publication) for entry in entries(store) if entry.publication]


def check_store(store: Store) -> None:
    """StoreError if nothing was ever published at a store's URL, or if it cannot be read."""
    if not Ledger(store, INDEX).exists():
        raise StoreError(
            f"there is no store at {store.url}, since it has no index; check the URL and mount the "
            f"drive, or compile a model into it: tflgpu-compile MODEL -o {store.url}"
        )


def find(store: Store, where: Address) -> list[Entry]:
    """The variants of one model, the newest first; those that cannot be relied on come last.

    PlanError if there are none, or if the store holds several models that may be meant.
    """
    model = where.model
    fingerprint = where.fingerprint or _only_model(store, model)
    chosen = [f"{fingerprint}/{where.variant}"] if where.variant else []
    paths = chosen or _variants(store, fingerprint)
    found = _entries(store, paths)
    if not found:
        raise PlanError(f"there is no compiled model at {store.at('/'.join(paths) or fingerprint)}")
    if model is not None:
        found = [_of_model(store, entry, model) for entry in found]
    return sorted(found, key=lambda entry: entry.published, reverse=True)


def _only_model(store: Store, model: str | os.PathLike[str] | None) -> str:
    """The fingerprint of the model that is meant (PlanError unless there is just one)."""
    present = [name for name in store.names() if is_fingerprint(name)]

    @cache
    def names() -> dict[str, str]:
        return {record.path.partition("/")[0]: record.model for record in listed(store)}

    meant = present
    if model is not None:
        meant = meant_models(present, model, lambda each: names().get(each, ""))
    if not meant:
        of = "" if model is None else f" of {os.fspath(model)}"
        raise PlanError(
            f"{store.url} holds no compiled model{of}; compile it with: "
            f"tflgpu-compile MODEL -o {store.url}"
        )
    if len(meant) > 1:
        shown = "".join(f"\n  {each[:SHOWN_DIGITS]}  {names().get(each, '')}" for each in meant)
        raise PlanError(f"{store.url} holds several models; choose one of them:{shown}")
    return meant[0]


def _of_model(store: Store, entry: Entry, model: str | os.PathLike[str]) -> Entry:
    """A variant, which cannot be relied on unless it is one of a model."""
    if entry.publication is None:
        return entry
    manifest = entry.publication.manifest
    # The index, which is not signed, may have led to another model than the one of that name.
    if meant_models([manifest.fingerprint], model, lambda _: manifest.model):
        return entry
    reason = f"was compiled from a different model ({manifest.model}) than {os.fspath(model)}"
    return Entry(entry.path, None, f"{store.at(entry.path)} {reason}")


def _variants(store: Store, fingerprint: str) -> list[str]:
    names = store.names(fingerprint)
    return [f"{fingerprint}/{name}" for name in names if is_variant(name)]


def _entries(store: Store, paths: Sequence[str]) -> list[Entry]:
    """The variants in these folders; folders without a manifest hold none."""

    def read(path: str) -> Entry | None:
        fingerprint, _, variant = path.partition("/")
        try:
            found = published(store, fingerprint, variant)
        except PlanError as error:
            return Entry(path, None, str(error), isinstance(error, NewerFormatError))
        return Entry(path, found) if found is not None else None

    return [entry for entry in store.each(read, paths) if entry is not None]
