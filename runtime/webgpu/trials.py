"""Which adapters work, found out once in processes of their own and remembered in the user's cache.

    <user's cache>/tflgpu/adapters/<digest>.json

The digest is that of the version of wgpu, of the files that register Vulkan's drivers, and of the
processor's instructions: if one of them changes, all adapters are tried again. So they are after a
day if one of them took too long, as any does on a busy machine.
"""

import hashlib
import json
import os
import platform
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

from platformdirs import user_cache_path

from ..cache.private_files import check_private, make_private, replace_file
from ..errors import CacheWarning, PlanError, warn_caller
from ..launch.attempt import Attempt, outdated
from ..processor import instruction_set
from .library import wgpu

VERSION = 3  # Of the kernel that is tried and of the files; part of the digest.
MODULE = "tflgpu.runtime.webgpu.probe"
# They name files that register drivers of Vulkan.
VARIABLES = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES")
# Where Linux registers them.
FOLDERS = ("/etc/vulkan/icd.d", "/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d")
ALL = ("WebGPU", "")  # Stands for all adapters where they cannot be listed.


@dataclass
class Trials:
    """What became of the adapters of this machine."""

    # The text of the `DeviceInfo` of each, its driver, and why it fails; empty if it does not.
    adapters: list[Sequence[str]] = field(default_factory=list)
    overdue: bool = False  # Whether one of them was not waited for any longer.


@cache
def known() -> Trials:
    """What is known of the adapters, after trying them if nothing was."""
    file = _file()
    try:
        check_private(file.parent)
        found = Trials(**json.loads(file.read_text(encoding="utf-8")))
        if not found.overdue or not outdated(file):
            return found
    except (OSError, PlanError, ValueError, TypeError):
        pass
    return _try_all(file)


def try_again() -> None:
    """Try the adapters, whatever was known of them."""
    known.cache_clear()
    _try_all(_file())


def _try_all(file: Path) -> Trials:
    first = Attempt(MODULE, (0,), {})
    listed = [ALL] if first.devices is None else first.devices
    with ThreadPoolExecutor() as pool:
        rest = pool.map(lambda number: Attempt(MODULE, (number,), {}), range(1, len(listed)))
        attempts = [first, *rest]
    trials = Trials(
        [(*device, tried.failure) for device, tried in zip(listed, attempts, strict=False)],
        any(tried.overdue for tried in attempts),
    )
    if first.devices is None and not first.failure:
        return Trials()  # no process can be started
    try:
        make_private(file.parent)
        replace_file(file, json.dumps(asdict(trials)).encode())
    except (OSError, PlanError) as error:
        warn_caller(CacheWarning(f"WebGPU's adapters will be tried again at every start: {error}"))
    return trials


def _file() -> Path:
    named = [path for name in VARIABLES for path in os.environ.get(name, "").split(os.pathsep)]
    files = [*filter(None, named)]
    for folder in FOLDERS:
        files += sorted(map(str, Path(folder).glob("*.json")))
    stamps: list[object] = []
    for path in files:
        with suppress(OSError):
            status = os.stat(path)
            stamps.append((path, status.st_size, status.st_mtime_ns))
    parts = (VERSION, wgpu.__version__, platform.release(), instruction_set(), *stamps)
    digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
    return user_cache_path("tflgpu") / "adapters" / f"{digest}.json"
