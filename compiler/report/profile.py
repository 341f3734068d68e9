"""A profile: the times of a model's kernels, as `tflgpu benchmark --json` prints them."""

import json
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Annotated

from ...runtime.typed_json import Form, typed
from ..errors import OptionError
from ..side_file import read_text

Finite = Annotated[float, Form("finite number", isfinite)]


@dataclass(frozen=True)
class Time:
    """The time of one dispatch, or of one part on the host."""

    label: str  # What it computes, for display.
    operators: tuple[int, ...]  # Indices in the model file of the operators it computes.
    ms: Finite
    roofline: Finite | None = None  # The share of the device's roofline that a kernel reaches.
    copy_in_ms: Finite = 0.0  # Of the copies before a part.
    copy_out_ms: Finite = 0.0  # Of those after it.

    @property
    def whole_ms(self) -> float:
        """With the copies."""
        return self.copy_in_ms + self.ms + self.copy_out_ms


@dataclass(frozen=True)
class Profile:
    """The times of one compiled model on one device."""

    model: str
    device: str
    target: str
    profile: str  # Name of the device profile it was compiled for.
    median_ms: Finite  # A whole run, including the copies of inputs and outputs.
    kernels: tuple[Time, ...]  # In the order of the dispatches.
    fallback: tuple[Time, ...]  # Of the parts on the host, in their order.
    path: Path = Path()


def read_profile(path: Path) -> Profile:
    """The profile in a file (OptionError if there is none)."""
    text = read_text(path, "the profile", OptionError)
    try:
        return replace(typed(Profile, json.loads(text)), path=path)
    except (ValueError, RecursionError) as error:
        raise OptionError(
            f"{path} is not a profile; write one with: tflgpu benchmark MODEL --json > {path.name}"
        ) from error
