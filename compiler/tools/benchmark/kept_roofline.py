"""Stored rooflines: a file per device, driver and profile in the user's cache folder.

Measuring takes seconds and a quiet machine, and the result does not change. A stored roofline is
valid as long as the measured kernels are the same; otherwise it is measured again.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

from platformdirs import user_cache_path

from ....runtime.cache.binaries import device_key
from ....runtime.cache.private_files import replace_file
from ....runtime.launch.device import DeviceInfo
from ...emit.compiled_model import CompiledModel
from ...target import Target
from .roofline import Roofline, compile_dispatches, compile_roofline, measure


@dataclass(frozen=True)
class KeptRoofline:
    """A roofline and where it is stored."""

    roofline: Roofline
    date: str
    """The day of the measurement."""
    file: Path
    """The file it is stored in; delete it to measure again."""


def folder() -> Path:
    """The folder of stored rooflines."""
    return user_cache_path("tflgpu") / "rooflines"


def roofline_of(info: DeviceInfo, target: Target) -> KeptRoofline:
    """The roofline of an attached device, measured now unless it is stored (DeviceError)."""
    file = folder() / f"{device_key(info)}-{target.device.name}.json"
    kernels = _digest(compile_roofline(target), compile_dispatches(target))
    kept = _read(file, kernels)
    if kept is None:
        kept = KeptRoofline(measure(str(info), target), str(date.today()), file)
        # If it cannot be stored, it is measured every time.
        with suppress(OSError):
            _write(kept, str(info), kernels)
    return kept


def _digest(*models: CompiledModel) -> str:
    texts = [text for compiled in models for text in compiled.sources.values()]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _read(file: Path, kernels: str) -> KeptRoofline | None:
    with suppress(OSError, ValueError, KeyError, TypeError):
        content = json.loads(file.read_text(encoding="utf-8"))
        if content["kernels"] == kernels:
            found = content["roofline"]
            copies = tuple((int(size), float(speed)) for size, speed in found["copies"])
            roofline = Roofline(float(found["flops"]), copies, float(found["dispatch"]))
            return KeptRoofline(roofline, str(content["date"]), file)
    return None


def _write(kept: KeptRoofline, device: str, kernels: str) -> None:
    content = {
        "device": device,
        "date": kept.date,
        "kernels": kernels,
        "roofline": asdict(kept.roofline),
    }
    kept.file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(kept.file, json.dumps(content, indent=1).encode())
