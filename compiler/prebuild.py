"""Running a driver's compiler right after ours, so that even the first load finds its work done."""

from __future__ import annotations

from pathlib import Path

from ..runtime import load


def prebuild(folder: Path, device: str) -> None:
    """Compile the kernels of a variant for an attached device and store them beside the plan.

    `device` is as in `tflgpu.load`, and so are the errors. The plan does not change.
    """
    load(folder, device=device).close()
