"""What all drawings over a picture have in common."""

from abc import ABC, abstractmethod
from typing import Any

from PIL import Image


class Shown(ABC):
    """Something that outputs show of a picture."""

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """Each thing found, with its properties: strings, whole numbers and floats."""

    def nothing(self) -> str:
        """What to say if nothing is certain enough; empty if something is, or always is."""
        return ""

    @abstractmethod
    def draw(self, picture: Image.Image) -> Image.Image:
        """The picture (RGB) with it drawn over it, or an image of its own."""


def text_size(picture: Image.Image) -> int:
    """The height of text over a picture, in pixels."""
    return max(min(picture.size) // 30, 11)


def color(number: int) -> tuple[int, int, int]:
    """The color of a class, as in the Pascal VOC data set; class 0, the background, is black.

    Its bits, three at a time, become the highest bits of red, green and blue.
    """
    channels = [0, 0, 0]
    for bit in range(8):
        for channel in range(3):
            channels[channel] |= (number >> (3 * bit + channel) & 1) << (7 - bit)
    return channels[0], channels[1], channels[2]
