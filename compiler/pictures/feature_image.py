"""An output that is itself an image, such as that of a style transfer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from ..ir import Array
from .outputs import Output


@dataclass(frozen=True)
class FeatureImage:
    """An output as an image."""

    name: str
    """Of the output."""
    image: Image.Image

    def records(self) -> list[dict[str, Any]]:
        """The output and its size."""
        return [{"output": self.name, "width": self.image.width, "height": self.image.height}]

    def nothing(self) -> str:
        """Nothing: there always is one."""
        return ""

    def draw(self, picture: Image.Image) -> Image.Image:
        """The image itself, in its own size."""
        return self.image


def image_of(outputs: Sequence[Output], names: Sequence[str]) -> FeatureImage | None:
    """The first output [1, height, width, 1 or 3] as an image; None if there is none.

    Values from 0 to 1 or from -1 to 1 become 0..255; others are clipped to 0..255. NaN counts as 0.
    """
    for output in outputs:
        values = output.values
        image = values.ndim == 4 and values.shape[0] == 1 and values.shape[3] in (1, 3)
        if image and min(values.shape[1:3]) > 1:
            return FeatureImage(output.name, Image.fromarray(_pixels(values[0])))
    return None


def _pixels(values: Array) -> Array:
    values = np.nan_to_num(values)
    low, high = float(values.min()), float(values.max())
    if low >= -1.5 and high <= 1.5:
        values = (values + 1) * 127.5 if low < -0.1 else values * 255
    pixels = np.clip(np.rint(values), 0, 255).astype(np.uint8)
    return pixels[:, :, 0] if pixels.shape[2] == 1 else pixels
