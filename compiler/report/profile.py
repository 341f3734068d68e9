"""A profile: the times of a model's kernels, as `tflgpu benchmark --json` prints them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import OptionError
from ..side_file import read_text


@dataclass(frozen=True)
class Time:
    """The time of one dispatch, or of one part on the host."""

    label: str
    """What it computes, for display."""
    operators: tuple[int, ...]
    """Indices in the model file of the operators it computes."""
    ms: float
    """Of a part, with the copies before and after it."""
    roofline: float | None = None
    """The share of the device's roofline that a kernel reaches."""


@dataclass(frozen=True)
class Profile:
    """The times of one compiled model on one device."""

    path: Path
    model: str
    device: str
    target: str
    profile: str
    """Name of the device profile it was compiled for."""
    run_ms: float
    """A whole run, including the copies of inputs and outputs."""
    kernels: tuple[Time, ...]
    """In the order of the dispatches."""
    parts: tuple[Time, ...]
    """In the order of the parts."""


def read_profile(path: Path) -> Profile:
    """The profile in a file (OptionError if there is none)."""
    text = read_text(path, "the profile", OptionError)
    try:
        value = json.loads(text)
        return Profile(
            path=path,
            model=str(value["model"]),
            device=str(value["device"]),
            target=str(value["target"]),
            profile=str(value["profile"]),
            run_ms=_finite(value["median_ms"]),
            kernels=tuple(
                Time(*_computed(item), _finite(item["ms"]), _share(item["roofline"]))
                for item in value["kernels"]
            ),
            parts=tuple(
                Time(
                    *_computed(item),
                    sum(_finite(item[key]) for key in ("copy_in_ms", "ms", "copy_out_ms")),
                )
                for item in value["fallback"]
            ),
        )
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise OptionError(
            f"{path} is not a profile; write one with: tflgpu benchmark MODEL --json > {path.name}"
        ) from error


def _share(value: Any) -> float | None:
    return None if value is None else _finite(value)


def _finite(value: Any) -> float:
    """A number (ValueError, TypeError or OverflowError if it is none, NaN or infinite)."""
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{value} is not finite")
    return number


def _computed(item: Mapping[str, Any]) -> tuple[str, tuple[int, ...]]:
    return str(item["label"]), tuple(map(int, item["operators"]))
