"""The cache folder: where compiled models lie, and how to find them.

    <cache>/<model fingerprint>/<variant>/plan.tflgpu
                                          kernels/NNN_name.cl
                                          fallback/N.tflite, for parts on LiteRT
                                          originals/, of a variant with edited kernels
                                          weights.bin
                                          binaries/<device key>.bin (see binaries.py)

A plan holds code that will be executed, so the folders must be private: owned by this user or by
root, and writable by nobody else. No symbolic links are followed below the cache.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ..errors import CacheWarning, PlanError, warn_caller
from ..plan.records import Plan
from .private_files import check_private
from .variant import PLAN, read_plan

if TYPE_CHECKING:
    from filelock import BaseFileLock

    from ..launch.device import Device

ATTEMPTS = 5  # How often to read a cache that another process is changing.
PAUSE = 0.02  # Seconds between attempts; replacing a folder takes a fraction of that.
SHOWN_DIGITS = 12  # Digits of a fingerprint that lists show, enough to tell models apart.

_FINGERPRINT_START = re.compile(r"[0-9a-f]{4,64}\Z")
_FINGERPRINT = re.compile(r"[0-9a-f]{64}\Z")
_Result = TypeVar("_Result")


def fingerprint(model: Path | bytes) -> str:
    """Hex SHA-256 digest of a model, given as a file or as its content."""
    if isinstance(model, bytes):
        return hashlib.sha256(model).hexdigest()
    digest = hashlib.sha256()
    with model.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def is_fingerprint(text: str) -> bool:
    return _FINGERPRINT.match(text) is not None


def variant_folder(cache: Path, model_fingerprint: str, variant: str) -> Path:
    return cache / model_fingerprint / variant


def lock(folder: Path) -> BaseFileLock:
    """The lock to hold while changing a variant's folder, whose parent must exist."""
    from filelock import FileLock

    return FileLock(folder.parent / f".{folder.name}.lock", mode=0o600)


def check_exists(cache: Path) -> None:
    """PlanError unless `cache` is a private folder."""
    if cache.is_file():
        raise PlanError(
            f"{cache} is a file, but a cache is a folder; compile a model into one with: "
            f"tflgpu-compile MODEL -o CACHE"
        )
    if not cache.is_dir() and cache.suffix == ".tflite":
        raise PlanError(f"there is no file {cache}")
    if not cache.is_dir():
        raise PlanError(
            f"there is no cache at {cache}; create one with: tflgpu-compile MODEL -o {cache}"
        )
    check_private(cache)


def find_variants(cache: Path, model: str | os.PathLike[str] | None = None) -> list[Path]:
    """The folders of all variants of a model, sorted by name.

    `model` is the model's file or name, or the beginning of its fingerprint, and may be omitted if
    the cache holds only one model. `cache` may also be the folder of one model in a cache, or of a
    single variant. PlanError if there are no variants, or if the cache holds several models that
    `model` may mean.
    """
    try:
        cache = Path(os.path.realpath(cache))
    except ValueError as error:  # no name of a file, such as one with a zero byte
        raise PlanError(f"there can be no cache at {cache}: {error}") from error
    check_exists(cache)
    if os.path.lexists(cache / PLAN):
        if model is not None and not _chosen({read_plan(cache).fingerprint: [cache]}, model):
            raise PlanError(
                f"{cache} was compiled from a different model than {model}; compile that one with: "
                f"tflgpu-compile {_model_argument(model)} -o CACHE"
            )
        return [cache]
    present = _models(cache)
    chosen = present if model is None else _chosen(present, model)
    if not chosen and model is None:
        raise PlanError(
            f"{cache} holds no compiled model; compile one with: tflgpu-compile MODEL -o {cache}"
        )
    if not chosen:
        others = f"; or choose one of those it holds:{_listing(present)}" if present else ""
        raise PlanError(
            f"{cache} holds no plan of {model}; compile it with: "
            f"tflgpu-compile {_model_argument(model)} -o {cache}{others}"
        )
    if len(chosen) > 1:
        raise PlanError(f"{cache} holds several models; choose one of them:{_listing(chosen)}")
    return next(iter(chosen.values()))


def meant_models(
    fingerprints: Iterable[str], model: str | os.PathLike[str], name: Callable[[str], str]
) -> list[str]:
    """Those of the models, by fingerprint, that a file, a name or part of a fingerprint means.

    `name` returns the name of a model and is asked for it only if that matters. PlanError if the
    file cannot be read.
    """
    text = os.fspath(model)
    if os.path.isfile(text):
        try:
            wanted = fingerprint(Path(text))
        except OSError as error:
            raise PlanError(f"cannot read the model {text}: {error.strerror}") from error
        return [digest for digest in fingerprints if digest == wanted]
    if _FINGERPRINT_START.match(text):
        return [digest for digest in fingerprints if digest.startswith(text)]
    return [digest for digest in fingerprints if name(digest) == text]


def newest_first(
    cache: Path, model: str | os.PathLike[str] | None = None
) -> list[tuple[Path, Plan]]:
    """The variants of a model with their plans, the most recently compiled first.

    Those whose plan is damaged, or of another version, are left out, and warnings tell of them.
    Raises what `find_variants` raises; PlanError if none can be read, or if one is being replaced.
    """
    found, problems = [], []
    for folder in sorted(find_variants(cache, model), key=_age):
        try:
            found.append((folder, read_plan(folder)))
        except PlanError as error:
            if not os.path.lexists(folder / PLAN):
                raise
            problems.append(error)
    if not found:
        raise problems[0]
    for problem in problems:
        warn_caller(CacheWarning(f"{problem}; another variant of the model is used"))
    return found


def first_runnable(found: Sequence[tuple[Path, Plan]], device: Device) -> tuple[Path, Plan]:
    """The first variant that the device can run; PlanError with all reasons if it can run none."""
    if len(found) == 1:
        # The session says why if it cannot be run.
        return found[0]
    reasons = []
    for folder, plan in found:
        reason = device.unsupported_reason(plan)
        if reason is None:
            return folder, plan
        reasons.append(f"\n  {folder.name}: {reason}")
    raise PlanError(
        f"no variant in {found[0][0].parent} can run on {device.info}; compile the model for it:"
        + "".join(reasons)
    )


def read_settled(cache: Path, read: Callable[[], _Result]) -> _Result:
    """What `read` returns, repeated if it fails while another process changes the cache."""
    for _ in range(ATTEMPTS - 1):
        before = _inodes(cache)
        try:
            return read()
        except PlanError:
            after = _inodes(cache)
            if after == before and not any(name.endswith(".tmp") for name in after):
                raise
        time.sleep(PAUSE)
    return read()


def _inodes(cache: Path) -> dict[str, int]:
    """The entries beside every variant in a cache, or beside `cache` if it is itself a variant."""
    folders = [cache.parent]
    if cache.is_dir() and not os.path.lexists(cache / PLAN):
        with suppress(OSError):
            folders = _model_folders(cache)
    return {path: inode for folder in folders for path, inode in _entries(folder).items()}


def _entries(folder: Path) -> dict[str, int]:
    try:
        with os.scandir(folder) as entries:
            return {entry.path: entry.inode() for entry in entries}
    except OSError:
        return {}


def _age(folder: Path) -> tuple[int, str]:
    """A key that is smaller the newer a variant is."""
    try:
        return (-(folder / PLAN).lstat().st_mtime_ns, folder.name)
    except OSError:
        # It has just been removed; reading it will report that.
        return (0, folder.name)


def _chosen(
    present: Mapping[str, list[Path]], model: str | os.PathLike[str]
) -> dict[str, list[Path]]:
    """The variants of those models that a file, a name or part of a fingerprint means."""
    meant = meant_models(present, model, lambda digest: _name(present[digest][0]))
    return {digest: present[digest] for digest in meant}


def _model_argument(model: str | os.PathLike[str] | None) -> str:
    """A model as an argument of a command: MODEL unless it is a file."""
    return "MODEL" if model is None or not os.path.isfile(model) else os.fspath(model)


def _models(cache: Path) -> dict[str, list[Path]]:
    """The variants of each model in a cache, both sorted by name."""
    result = {}
    try:
        for model in _model_folders(cache):
            check_private(model)
            result[model.name] = [
                variant
                for variant in sorted(model.iterdir())
                if not variant.name.startswith(".") and os.path.lexists(variant / PLAN)
            ]
    except OSError as error:
        raise PlanError(f"cannot read {error.filename}: {error.strerror}") from error
    return {name: variants for name, variants in result.items() if variants}


def _model_folders(cache: Path) -> list[Path]:
    """The folders of models in a cache, sorted; only `cache` if it is itself one (OSError)."""
    if is_fingerprint(cache.name):
        return [cache]
    return sorted(path for path in cache.iterdir() if is_fingerprint(path.name))


def _listing(models: Mapping[str, list[Path]]) -> str:
    lines = []
    for model, variants in models.items():
        lines.append(f"\n  {model[:SHOWN_DIGITS]}  {_name(variants[0]) or '(unreadable)'}")
    return "".join(lines)


def _name(variant: Path) -> str:
    """The file name of a variant's model; empty if the plan cannot be read."""
    try:
        return read_plan(variant).model
    except PlanError:
        return ""
