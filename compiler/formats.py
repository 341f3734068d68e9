"""Formats of inputs and outputs: what an application has, where it is not what the model takes.

    "rgba8, size=1920x1080, crop=center, resize=bilinear, mean=127.5, std=127.5"     of an input
    "softmax", "argmax", "rgba8, mean=127.5, std=127.5"                               of an output

A format is one word for the kind, then options in any order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .errors import OptionError

PICTURES = {"rgba8": 4, "rgb8": 3, "gray8": 1}  # Channels of each kind of picture, a byte each.

# The operator of TFLite, with half-pixel centers, that each way to resize stands for.
RESIZES = {"bilinear": "RESIZE_BILINEAR", "nearest": "RESIZE_NEAREST_NEIGHBOR"}

CROPS = ("center",)

SCORES = ("argmax", "softmax")  # What outputs can become besides pictures.
LARGEST_SIDE = 1 << 14  # Pixels of a picture's side.
LARGEST = 1e38  # Of the numbers, which become floats of 32 bits.


@dataclass(frozen=True)
class PictureFormat:
    """A picture of bytes, row-major: [batch, height, width, channels]."""

    kind: str
    # Width and height in pixels; None for those of the model's tensor.
    size: tuple[int, int] | None = None
    # center: only the largest part in the middle that has the model's aspect ratio is read, or
    # without a resize that of the model's size.
    crop: str = ""
    resize: str = ""
    # The model's values are (byte - mean) / std; one number or one for each channel.
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()

    @property
    def channels(self) -> int:
        return PICTURES[self.kind]

    def holds(self, channels: int) -> bool:
        """Whether it has what a tensor with that many channels needs; alpha may be left over."""
        return channels == self.channels or (channels, self.kind) == (3, "rgba8")


@dataclass(frozen=True)
class ScoresFormat:
    """Scores along the last axis: their softmax, or the position of the greatest."""

    kind: str


OutputFormat = PictureFormat | ScoresFormat


def input_format(name: str, text: str) -> PictureFormat:
    """The format of the input `name` (OptionError that names what is wrong)."""
    return _Parser(_what("inputs", name), text).picture(PICTURES, ("size", "crop", "resize"))


def output_format(name: str, text: str) -> OutputFormat:
    """The format of the output `name` (OptionError that names what is wrong)."""
    parser = _Parser(_what("outputs", name), text)
    if parser.kind in SCORES:
        parser.expect(SCORES, ())
        return ScoresFormat(parser.kind)
    return parser.picture((*SCORES, *PICTURES), ())


def _what(option: str, name: str) -> str:
    return f"{option}[{name!r}]" if name else option


class _Parser:
    """The kind and the options of a format."""

    def __init__(self, what: str, text: str) -> None:
        if not isinstance(text, str):
            raise OptionError(f"{what}={text!r}: give a format as a string, such as 'rgba8'")
        self._what = f"{what}={text!r}"
        self.kind, *items = (item.strip() for item in text.split(","))
        self._options: dict[str, str] = {}
        for item in items:
            key, equals, value = (part.strip() for part in item.partition("="))
            if not equals or key in self._options:
                problem = "is given twice" if equals else "has no value"
                raise self._wrong(f"{item!r} {problem}; write options as key=value")
            self._options[key] = value

    def _wrong(self, problem: str) -> OptionError:
        return OptionError(f"{self._what}: {problem}")

    def expect(self, kinds: Sequence[str] | Mapping[str, int], keys: Sequence[str]) -> None:
        """OptionError for a kind or an option that is not among these."""
        if self.kind not in kinds:
            raise self._wrong(f"unknown format {self.kind!r}; choose one of {', '.join(kinds)}")
        unknown = [key for key in self._options if key not in keys]
        if unknown:
            known = ", ".join(keys) or "none"
            raise self._wrong(f"unknown option {unknown[0]!r} of {self.kind}; its options: {known}")

    def picture(
        self, kinds: Sequence[str] | Mapping[str, int], keys: Sequence[str]
    ) -> PictureFormat:
        self.expect(kinds, (*keys, "mean", "std"))
        std = self._numbers("std")
        if any(abs(number) < 1 / LARGEST for number in std):
            raise self._wrong("std is 0, or too small to divide floats of 32 bits by it")
        return PictureFormat(
            self.kind,
            self._size(),
            self._choice("crop", CROPS),
            self._choice("resize", RESIZES),
            self._numbers("mean"),
            std,
        )

    def _choice(self, key: str, choices: Sequence[str] | Mapping[str, str]) -> str:
        value = self._options.get(key)
        if value is not None and value not in choices:
            raise self._wrong(f"{key}={value}: choose one of {', '.join(choices)}")
        return value or ""

    def _size(self) -> tuple[int, int] | None:
        if "size" not in self._options:
            return None
        width, _, height = self._options["size"].partition("x")
        digits = len(str(LARGEST_SIDE))
        sides = [
            int(side) if side.isdecimal() and len(side) <= digits else 0 for side in (width, height)
        ]
        if not all(1 <= side <= LARGEST_SIDE for side in sides):
            raise self._wrong(
                f"size={self._options['size']} is not WIDTHxHEIGHT, such as 1920x1080, of up to "
                f"{LARGEST_SIDE} pixels each"
            )
        return sides[0], sides[1]

    def _numbers(self, key: str) -> tuple[float, ...]:
        """One number, or several with slashes between them."""
        if key not in self._options:
            return ()
        try:
            numbers = tuple(float(number) for number in self._options[key].split("/"))
        except ValueError:
            numbers = ()
        if not numbers or not all(abs(number) <= LARGEST for number in numbers):
            raise self._wrong(
                f"{key}={self._options[key]} is not a number, or one for each channel such as "
                f"123.7/116.8/103.9"
            )
        return numbers
