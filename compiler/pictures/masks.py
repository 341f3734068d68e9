"""Outputs as large as a picture: the class of each pixel, drawn over it, or another image."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from ..ir import Array
from .drawing import Shown, color
from .outputs import Output, label

OPACITY = 0.6  # Of the colors over the picture.
COLORS = 256  # Classes with a color of their own.
FOREGROUND = "foreground"  # The class of a mask that has only one.


@dataclass(frozen=True)
class Mask(Shown):
    classes: Array  # [height, width], integers.
    names: tuple[str, ...]  # The names of classes, by number.

    def records(self) -> list[dict[str, Any]]:
        """Each class in the mask with its share of the pixels, the largest first."""
        found, counts = np.unique(self.classes, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return [
            {
                "class": label(self.names, int(found[i])),
                "share": float(counts[i] / self.classes.size),
                "color": "none" if found[i] == 0 else "#" + bytes(color(int(found[i]))).hex(),
            }
            for i in order
        ]

    def draw(self, picture: Image.Image) -> Image.Image:
        palette = np.array([color(number) for number in range(COLORS)], np.uint8)
        colors = Image.fromarray(palette[self.classes % COLORS])
        opacity = np.where(self.classes > 0, int(OPACITY * 255), 0).astype(np.uint8)
        return Image.composite(
            colors.resize(picture.size, Image.Resampling.NEAREST),
            picture,
            Image.fromarray(opacity).resize(picture.size, Image.Resampling.BILINEAR),
        )


def mask_of(outputs: Sequence[Output], names: Sequence[str]) -> Mask | None:
    """The mask in the first output that has one; None if there is none.

    It has a score for each class at the end, or a single probability or logit, or the classes
    themselves, as ARG_MAX computes them.
    """
    for output in outputs:
        values = output.values
        if values.ndim == 4 and values.shape[0] == 1 and min(values.shape[1:3]) > 1:
            given = tuple(names) or output.labels
            if values.shape[3] > 1:
                return Mask(np.argmax(values[0], axis=-1), given)
            return Mask(*_single(values[0, :, :, 0], given))
        if is_class_map(output):
            classes = np.nan_to_num(values[0], posinf=0, neginf=0).astype(np.int64)
            return Mask(classes, tuple(names) or output.labels)
    return None


def is_class_map(output: Output) -> bool:
    """Whether an output holds the classes of pixels, [1, height, width], as ARG_MAX computes."""
    values = output.values
    pixels = values.ndim == 3 and values.shape[0] == 1 and min(values.shape[1:]) > 4
    finite = np.nan_to_num(values, posinf=0, neginf=0)
    return pixels and bool(((finite == np.rint(finite)) & (finite >= 0)).all())


def _single(values: Array, given: tuple[str, ...]) -> tuple[Array, tuple[str, ...]]:
    """The mask of a single class: probabilities count from 0.5, logits from 0."""
    probable = values.min() >= 0 and values.max() <= 1
    names = given if len(given) > 1 else ("background", *(given or (FOREGROUND,)))
    return (values >= (0.5 if probable else 0.0)).astype(np.int64), names


@dataclass(frozen=True)
class FeatureImage(Shown):
    name: str
    image: Image.Image

    def records(self) -> list[dict[str, Any]]:
        return [{"output": self.name, "width": self.image.width, "height": self.image.height}]

    def draw(self, picture: Image.Image) -> Image.Image:
        return self.image


def image_of(outputs: Sequence[Output]) -> FeatureImage | None:
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
