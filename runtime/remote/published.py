"""Which variants a store holds, as their manifests say. No other file is read for that."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ..errors import PlanError
from ..store.cache import SHOWN_DIGITS, is_fingerprint, meant_models
from .manifest import MANIFEST, Publication, from_bytes, is_variant
from .store import Store


@dataclass(frozen=True)
class Entry:
    """A variant in a store."""

    path: str
    """Its folder in the store: <model fingerprint>/<variant>."""
    publication: Publication | None
    """None if it cannot be relied on."""
    problem: str = ""
    """Why it cannot."""


@dataclass(frozen=True)
class Address:
    """What a URL means: a store, the variants of a model in it, or one variant."""

    store: str
    """The URL of the store."""
    fingerprint: str = ""
    variant: str = ""


def address(url: str) -> Address:
    """A URL, taken apart.

    >>> address("s3://models/" + "ab" * 32 + "/opencl-f32-mali-a20d7aa81cd8").variant
    'opencl-f32-mali-a20d7aa81cd8'
    """
    url = url.rstrip("/")
    above, _, last = url.rpartition("/")
    if is_fingerprint(last):
        return Address(above, last)
    store, _, middle = above.rpartition("/")
    return Address(store, middle, last) if is_fingerprint(middle) else Address(url)


def published(store: Store, fingerprint: str, variant: str) -> Publication | None:
    """What a store holds under a variant's name; None if nothing.

    PlanError if its manifest is damaged or that of another variant, StoreError if the store cannot
    be read.
    """
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


def find(store: Store, where: Address, model: str | os.PathLike[str] | None) -> list[Entry]:
    """The variants of one model, the newest first; those that cannot be relied on come last.

    `model` is as in `tflgpu.load`. PlanError if there are none, or if the store holds several
    models that it may mean.
    """
    fingerprint = where.fingerprint or _only_model(store, model)
    if where.fingerprint and model is not None:
        _check_means(store, fingerprint, model)
    variants = [where.variant] if where.variant else None
    paths = (
        [f"{fingerprint}/{name}" for name in variants]
        if variants is not None
        else _variants(store, fingerprint)
    )
    found = _entries(store, paths)
    if not found:
        raise PlanError(f"there is no compiled model at {store.at('/'.join(paths) or fingerprint)}")
    return sorted(found, key=lambda entry: -entry.publication.published if entry.publication else 1)


def _only_model(store: Store, model: str | os.PathLike[str] | None) -> str:
    """The fingerprint of the model that is meant (PlanError unless there is just one)."""
    present = [name for name in store.names() if is_fingerprint(name)]

    @cache
    def names() -> dict[str, str]:
        return dict(zip(present, store.each(lambda each: _name(store, each), present), strict=True))

    meant = present if model is None else meant_models(present, model, lambda each: names()[each])
    if not meant:
        of = "" if model is None else f" of {os.fspath(model)}"
        raise PlanError(
            f"{store.url} holds no compiled model{of}; `tflgpu-compile MODEL -o URL` compiles into "
            f"a store"
        )
    if len(meant) > 1:
        listed = "".join(f"\n  {each[:SHOWN_DIGITS]}  {names()[each]}" for each in meant)
        raise PlanError(f"{store.url} holds several models; choose one of them:{listed}")
    return meant[0]


def _check_means(store: Store, fingerprint: str, model: str | os.PathLike[str]) -> None:
    if not meant_models([fingerprint], model, lambda each: _name(store, each)):
        raise PlanError(
            f"{store.at(fingerprint)} was compiled from a different model than {os.fspath(model)}"
        )


def _name(store: Store, fingerprint: str) -> str:
    """The file name of a model, as its first variant has it; empty if its manifest is damaged."""
    for path in _variants(store, fingerprint)[:1]:
        for entry in _entries(store, [path]):
            return entry.publication.manifest.model if entry.publication else ""
    return ""


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
            return Entry(path, None, str(error))
        return Entry(path, found) if found is not None else None

    return [entry for entry in store.each(read, paths) if entry is not None]
