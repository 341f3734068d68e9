"""Fetching one variant from a store into the user's cache, whole or not at all."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from ..cache.private_files import replace_file, sync_folder
from ..cache.replacing import change_folder, replace_folder
from ..cache.variant import PLAN, read_plan
from ..errors import CacheWarning, PlanError, StoreError, warn_caller
from ..plan.records import Plan
from .copies import copied, copies_of, download, file_of, folder_of, is_copy
from .copies import read_plan as download_plan
from .keys import Trust, Trusted, refused
from .manifest import MANIFEST, Publication, to_bytes
from .published import Address, Entry, address, check_store, find, published
from .store import TIMEOUT, Store

ATTEMPTS = 5  # How often to fetch a variant that another process replaces meanwhile.

# Chooses one of several variants, by the folder in which each would be kept.
Choose = Callable[[Sequence[tuple[Path, Plan]]], Path]


def fetch(
    url: str,
    model: str | os.PathLike[str] | None,
    trust: Trust,
    choose: Choose,
    timeout: float = TIMEOUT,
) -> Path:
    """The folder, in the user's cache, of a variant at a URL, fetched unless it is there already.

    `url` is that of a store, of a model in it or of one variant. If the store cannot be reached, or
    does not answer in `timeout` seconds, what was fetched before is used, with a CacheWarning.
    PlanError if there is no such variant, it is not trusted or its files are damaged, StoreError if
    the store cannot be reached and nothing was fetched before.
    """
    trusted, where = Trusted(trust), address(url, model)
    copies = copies_of(where.store)
    try:
        store = Store(where.store, timeout)
        found = _find(store, where, trusted)
        chosen = _chosen(store, found, copies, choose)
        return _fetch(store, chosen, copies, trusted)
    except StoreError as error:
        folder = _fetched_before(copies, where, trusted, choose)
        if folder is None:
            raise
        warn_caller(CacheWarning(f"{error}; {folder}, fetched before, is used"))
        return folder


def _find(store: Store, where: Address, trusted: Trusted) -> list[Publication]:
    """The variants of a model that may be run (PlanError if there are none)."""
    try:
        return _trusted(store, find(store, where), trusted)
    except PlanError:
        # A network drive that is not mounted, or a page that a server gives for every file, is no
        # store without models.
        check_store(store)
        raise


def _fetched_before(copies: Path, where: Address, trusted: Trusted, choose: Choose) -> Path | None:
    """The copy that a store would be asked for; None if there is none that may be run."""
    newest: dict[str, Path] = {}
    for each in copied(copies, where):
        folder, path = folder_of(copies, each), each.manifest.path
        if path not in newest and trusted.objection(each) is None and is_copy(folder, each):
            newest[path] = folder
    if len(newest) < 2:
        return next(iter(newest.values()), None)
    with suppress(PlanError):
        return choose([(folder, read_plan(folder)) for folder in newest.values()])
    return None


def _trusted(store: Store, found: Sequence[Entry], trusted: Trusted) -> list[Publication]:
    """Those that may be run (PlanError if there are none)."""
    accepted, objections = [], {}
    for publication in filter(None, (entry.publication for entry in found)):
        reason = trusted.objection(publication)
        if reason is None:
            accepted.append(publication)
        else:
            objections[store.at(publication.manifest.path)] = reason
    if not accepted:
        problems = [entry.problem for entry in found if entry.publication is None]
        raise PlanError("\n".join(problems + [str(refused(objections))] * bool(objections)))
    return accepted


def _chosen(
    store: Store, found: Sequence[Publication], copies: Path, choose: Choose
) -> Publication:
    """One of several variants, chosen by their plans, which alone are read for that."""
    if len(found) == 1:
        return found[0]
    folders = {folder_of(copies, each): each for each in found}
    plans = [(folder, _plan(store, folder, each)) for folder, each in folders.items()]
    return folders[choose(plans)]


def _plan(store: Store, folder: Path, publication: Publication) -> Plan:
    """A variant's plan, from its copy if that has it; the other files do not matter yet."""
    with suppress(PlanError, OSError):
        if file_of(folder / PLAN) == publication.manifest.files[PLAN]:
            return read_plan(folder)
    return download_plan(store, publication)


def _fetch(store: Store, publication: Publication, copies: Path, trusted: Trusted) -> Path:
    manifest = publication.manifest
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _copy(store, publication, copies)
        except PlanError:
            current = published(store, manifest.fingerprint, manifest.variant)
            if current is None or current == publication or attempt == ATTEMPTS:
                raise
            trusted.check(current, store.at(manifest.path))
            publication = current
    raise AssertionError("unreachable")


def _copy(store: Store, publication: Publication, copies: Path) -> Path:
    """The folder of a variant's copy, made unless it is there (PlanError, StoreError)."""
    folder = folder_of(copies, publication)

    def make() -> None:
        if not is_copy(folder, publication):
            replace_folder(folder, lambda new: _download(store, publication, new))
        elif not _has_manifest(folder, publication):
            replace_file(folder / MANIFEST, to_bytes(publication))

    change_folder(folder, make)
    return folder


def _has_manifest(folder: Path, publication: Publication) -> bool:
    """Whether a copy has just this manifest, with these signatures."""
    with suppress(FileNotFoundError):
        return (folder / MANIFEST).read_bytes() == to_bytes(publication)
    return False


def _download(store: Store, publication: Publication, folder: Path) -> None:
    """Fill a new folder with a variant's files, each as its manifest says."""
    files = publication.manifest.files
    within = {Path(path.rpartition("/")[0]) for path in files}
    above = {each for path in within for each in (path, *path.parents)}
    folders = [folder / path for path in sorted(above)]
    for each in folders:
        each.mkdir(mode=0o700)
    download(store, publication, folder)
    for path in files:
        (folder / path).chmod(0o600)
        with (folder / path).open("rb") as file:
            os.fsync(file.fileno())
    replace_file(folder / MANIFEST, to_bytes(publication))
    for each in folders:
        sync_folder(each)
