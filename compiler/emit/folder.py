"""Writing a compiled model into its folder of the cache, atomically."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...runtime.cache.private_files import read_file, sync_folder
from ...runtime.cache.replacing import change_folder, replace_folder
from ...runtime.cache.variant import (
    KERNELS,
    LARGEST_TEXT,
    ORIGINALS,
    PLAN,
    WEIGHTS,
    read_plan,
    read_variant,
)
from ...runtime.errors import CacheWarning, PlanError
from ...runtime.plan.file import to_bytes
from ...runtime.plan.records import Plan, Specialization
from ...runtime.plan.validate import validate
from ..telling import tell
from .compiled_model import CompiledModel

# The folder for kernels that were changed in a variant's folder before it was written again.
CHANGED = "changed"


def pack(
    plan: Plan,
    sources: Mapping[str, str],
    weights: Any,
    folder: Path,
    companions: Mapping[str, bytes] | None = None,
    specializations: Sequence[CompiledModel] = (),
    keep_edits: bool = True,
) -> Path:
    """Write a variant's folder, `<cache>/<fingerprint>/<variant>`, and return its path.

    `sources` has the text of each kernel file by its path in the folder, `companions` the plan's
    companion files, LiteRT parts and originals likewise; `weights` supports the buffer protocol;
    `specializations` are those of the plan, in its order. A valid folder with the same plan is left
    alone, with `keep_edits` also if kernels of it have been edited since; any other is replaced. A
    kernel that was changed in the folder itself is then put aside in its folder `changed`, with a
    CacheWarning. The folder appears complete or not at all, even if several processes write it at
    once.

    PlanError if the files do not match the plan, or the folder cannot be written or is not private.
    """
    validate(plan)
    for other in specializations:
        validate(other.plan)
    view = memoryview(weights).cast("B") if memoryview(weights).nbytes else memoryview(b"")
    texts = {file: text.encode("utf-8") for file, text in sources.items()} | dict(companions or {})
    _check_parts(plan, texts, view)
    contents: dict[str, bytes | memoryview] = {PLAN: to_bytes(plan), **texts, WEIGHTS: view}
    for record, other in zip(plan.specializations, specializations, strict=True):
        files = _specialized(record, other)
        _check_parts(other.plan, {name: files[name] for name in files if name != PLAN}, view)
        contents |= {f"{record.folder}/{name}": content for name, content in files.items()}

    def write() -> None:
        if not _is_same(folder, contents[PLAN], keep_edits):
            changed = _changed_in(folder)
            replace_folder(folder, lambda new: _write(new, {**contents, **changed}))
            _warn_of(changed, folder)

    change_folder(folder, write)
    return folder


def _specialized(record: Specialization, model: CompiledModel) -> dict[str, bytes]:
    """The files of a specialization, by their path in its folder (PlanError)."""
    file = to_bytes(model.plan)
    if hashlib.sha256(file).digest() != record.sha256:
        raise PlanError(f"the plan does not describe the one in {record.folder}")
    texts = {name: text.encode("utf-8") for name, text in model.sources.items()}
    return {PLAN: file, **texts, **model.companions}


def _check_parts(plan: Plan, texts: Mapping[str, bytes], weights: memoryview) -> None:
    digests = {kernel.file: kernel.sha256 for kernel in plan.kernels}
    digests |= {companion.file: companion.sha256 for companion in plan.companions}
    digests |= {part.file: part.sha256 for part in plan.parts}
    texts = {file: text for file, text in texts.items() if not file.startswith(f"{ORIGINALS}/")}
    wrong = sorted(
        file
        for file in digests.keys() | texts.keys()
        if file not in texts or digests.get(file) != hashlib.sha256(texts[file]).digest()
    )
    if wrong:
        raise PlanError(f"the plan does not describe these files: {', '.join(wrong)}")
    if weights.nbytes != plan.weights_size:
        raise PlanError(
            f"the weights have {weights.nbytes} bytes, the plan states {plan.weights_size}"
        )
    if hashlib.sha256(weights).digest() != plan.weights_sha256:
        raise PlanError("the plan does not describe these weights")


def _is_same(folder: Path, plan: bytes | memoryview, keep_edits: bool) -> bool:
    """Whether a folder holds an undamaged variant with this plan, which has every file's digest.

    With `keep_edits`, its kernels may have been edited since.
    """
    try:
        edited = bool(read_variant(folder).plan.edits)
        places = [folder, folder / ORIGINALS] if edited and keep_edits else [folder]
        return any((place / PLAN).read_bytes() == plan for place in places)
    except (PlanError, OSError):
        return False


def _changed_in(folder: Path) -> dict[str, bytes]:
    """The kernels in a folder that are not those of its plan, by where they are put aside."""
    found = {}
    with suppress(PlanError):
        for kernel in read_plan(folder).kernels:
            with suppress(PlanError):
                content = read_file(folder / kernel.file, LARGEST_TEXT)
                if hashlib.sha256(content).digest() != kernel.sha256:
                    found[f"{CHANGED}/{Path(kernel.file).name}"] = content
    return found


def _warn_of(changed: Mapping[str, bytes], folder: Path) -> None:
    if changed:
        files = "".join(f"\n  {folder / file}" for file in changed)
        text = (
            f"kernels in {folder} were damaged or changed by hand, and are now as compiled; what "
            f"they were is in{files}\ntry and keep a changed kernel with: tflgpu edit {folder} "
            f"KERNEL FILE"
        )
        tell(CacheWarning(text))


def _write(folder: Path, contents: Mapping[str, bytes | memoryview]) -> None:
    """Write files that only this user can read, and wait until they are on the disk."""
    parents = {parent for name in contents for parent in (folder / name).parents}
    below = sorted(parent for parent in parents | {folder / KERNELS} if folder in parent.parents)
    for directory in (folder, *below):
        directory.mkdir(mode=0o700)
    for name, content in contents.items():
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(folder / name, flags, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    for directory in (*reversed(below), folder):
        sync_folder(directory)
