"""Arrays for a model's inputs from the option --input: images, .npy files or random numbers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from tokenize import TokenError
from warnings import catch_warnings, simplefilter

import numpy as np
from PIL import Image, ImageOps

from ...runtime.errors import InputError
from ...runtime.plan.records import TensorInfo
from ..ir import Array

RANDOM = "random"
"""The source that stands for random numbers."""

LARGEST_RANDOM_INTEGER = 8
"""Integer inputs are mostly indices, and small ones are valid for most tables."""

MODES = {1: "L", 3: "RGB", 4: "RGBA"}
"""Pillow's image mode by number of channels."""


@dataclass(frozen=True)
class Scaling:
    """The conversion of pixels to a float input: (pixel - mean) / std."""

    mean: float = 0.0
    std: float = 255.0

    def __post_init__(self) -> None:
        """InputError if `std` is zero, or either is not finite."""
        if not self.std:
            raise InputError("std is 0, but pixels are divided by it; give another value")
        if not (isfinite(self.mean) and isfinite(self.std)):
            raise InputError(f"mean is {self.mean} and std is {self.std}, but both must be finite")

    def __str__(self) -> str:
        low, high = (0 - self.mean) / self.std, (255 - self.mean) / self.std
        return f"pixels 0..255 become {low:g}..{high:g}"


def assign(values: Sequence[str], inputs: Sequence[TensorInfo]) -> dict[str, str]:
    """The source of each input, from values `name=source`, or `source` if there is only one input.

    A plain "random" applies to every input not named. InputError if an input does not exist, is
    given twice or not at all.
    """
    sources: dict[str, str] = {}
    others: str | None = None
    names = [info.name for info in inputs]
    for value in values:
        name, source = _split(value, names)
        if name is None and source == RANDOM:
            others = RANDOM
            continue
        name = _only(names, source) if name is None else name
        if name in sources:
            raise InputError(f"input {name} is given twice")
        sources[name] = source
    for name in names:
        source = sources.get(name) or others or ""
        if not source:
            raise InputError(
                f"input {name} has no value; pass --input {name}=FILE or --input {RANDOM}"
            )
        sources[name] = source
    return sources


def _split(value: str, names: Sequence[str]) -> tuple[str | None, str]:
    """A value as (name or None, source); names and file names may both contain an equals sign."""
    for name in sorted(names, key=len, reverse=True):
        if value.startswith(f"{name}="):
            return name, value[len(name) + 1 :]
    if value == RANDOM or "=" not in value or os.path.exists(value):
        return None, value
    name = value.partition("=")[0]
    raise InputError(f"the model has no input {name!r}; its inputs are {', '.join(names)}")


def _only(names: Sequence[str], source: str) -> str:
    if len(names) != 1:
        raise InputError(
            f"the model has several inputs, {', '.join(names)}; pass --input NAME={source}"
        )
    return names[0]


def load_inputs(
    sources: dict[str, str],
    inputs: Sequence[TensorInfo],
    generator: np.random.Generator,
    scaling: Scaling,
) -> dict[str, Array]:
    """An array for each input (InputError if a file cannot be read or does not fit its input)."""
    return {info.name: load(sources[info.name], info, generator, scaling) for info in inputs}


def is_image(source: str) -> bool:
    """Whether a source is the file of an image."""
    return source != RANDOM and Path(source).suffix != ".npy"


def load(source: str, info: TensorInfo, generator: np.random.Generator, scaling: Scaling) -> Array:
    """The array for one input: random numbers, a .npy file, or else an image (InputError)."""
    if source == RANDOM:
        return random(info, generator)
    if not os.path.isfile(source):
        raise InputError(f"input {info.name}: there is no file {source}")
    return image(source, info, scaling) if is_image(source) else array_file(source, info)


def random(info: TensorInfo, generator: np.random.Generator) -> Array:
    """Normally distributed floats, 8-bit integers of the whole range, small positive wider ones.

    Strings are the digits of small positive integers. InputError for complex inputs.
    """
    if info.dtype == "string":
        numbers = generator.integers(1, LARGEST_RANDOM_INTEGER, info.shape, endpoint=True)
        return numbers.astype(str).astype(object)
    dtype = np.dtype(info.dtype)
    if dtype.kind == "f":
        return generator.standard_normal(info.shape).astype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, info.shape).astype(dtype)
    if dtype.kind not in "iu":
        raise InputError(
            f"input {info.name} is {info.dtype}, for which there are no random numbers; pass a "
            f".npy file"
        )
    if dtype.itemsize == 1:
        limits = np.iinfo(dtype)
        return generator.integers(limits.min, limits.max, info.shape, dtype, endpoint=True)
    return generator.integers(1, LARGEST_RANDOM_INTEGER, info.shape, dtype, endpoint=True)


def array_file(path: str, info: TensorInfo) -> Array:
    """The content of a .npy file, with floats converted to the input's type (InputError)."""
    try:
        # np.load would also accept archives, and its errors advise loading pickles.
        with open(path, "rb") as file:
            array: Array = np.lib.format.read_array(file, allow_pickle=False)
    except (ValueError, OSError, MemoryError, TokenError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"input {info.name}: {path} is not a .npy file: {reason}") from error
    dtype = np.dtype(info.dtype)
    if array.dtype.kind == dtype.kind == "f":
        with np.errstate(over="ignore"):
            array = array.astype(dtype)
    if array.shape != info.shape or array.dtype != dtype:
        raise InputError(
            f"input {info.name}: {path} contains {array.dtype.name}{list(array.shape)}, but the "
            f"model takes {info.dtype}{list(info.shape)}"
        )
    return array


def image(path: str, info: TensorInfo, scaling: Scaling) -> Array:
    """An image, rotated upright and resized to the input's height and width (InputError).

    Float inputs get scaled pixels, uint8 inputs the pixels, and int8 inputs the pixels minus 128.
    """
    batch, height, width, channels = _image_shape(info)
    try:
        with catch_warnings():
            # Pillow's warnings are either harmless or become errors later.
            simplefilter("ignore")
            with Image.open(path) as file:
                upright = ImageOps.exif_transpose(file).convert(MODES[channels])
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise InputError(f"input {info.name}: {path} is not a readable image: {error}") from error
    resized = upright.resize((width, height), Image.Resampling.BILINEAR)
    pixels = np.asarray(resized).reshape(1, height, width, channels)
    if info.dtype == "int8":
        values: Array = (pixels.astype(np.int16) - 128).astype(np.int8)
    elif info.dtype == "uint8":
        values = pixels
    else:
        values = ((pixels - scaling.mean) / scaling.std).astype(info.dtype)
    return np.repeat(values, batch, axis=0).reshape(info.shape)


def _image_shape(info: TensorInfo) -> tuple[int, int, int, int]:
    """The input's shape as (batch, height, width, channels); InputError if it takes no images."""
    shape = (1,) * (4 - len(info.shape)) + info.shape
    fits = len(info.shape) in (3, 4) and shape[3] in MODES
    if not fits or not (info.dtype in ("int8", "uint8") or np.dtype(info.dtype).kind == "f"):
        raise InputError(
            f"input {info.name} is {info.dtype}{list(info.shape)}, not an image; pass a .npy file"
        )
    return shape[0], shape[1], shape[2], shape[3]
