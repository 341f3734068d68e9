"""Reading a picture, and what an input takes of it."""

from warnings import catch_warnings, simplefilter

import numpy as np
from PIL import Image, ImageOps

from ...runtime.errors import InputError
from ...runtime.plan.records import TensorInfo
from ..ir import Array
from .scaling import Scaling

MODES = {1: "L", 3: "RGB", 4: "RGBA"}  # Pillow's image mode by number of channels.


def read_picture(path: str, mode: str = "RGB") -> Image.Image:
    """A picture in a mode of Pillow, turned upright (InputError)."""
    try:
        with catch_warnings():
            # Pillow's warnings are either harmless or become errors later.
            simplefilter("ignore")
            with Image.open(path) as file:
                return ImageOps.exif_transpose(file).convert(mode)
    except (
        Image.DecompressionBombError,
        NotImplementedError,
        OSError,
        SyntaxError,
        ValueError,
    ) as error:
        raise InputError(f"{path} is not a readable picture: {error}") from error


def picture_array(path: str, info: TensorInfo, scaling: Scaling) -> Array:
    """A picture resized to the input's height and width, and scaled (InputError)."""
    batch, height, width, channels = _image_shape(info)
    try:
        picture = read_picture(path, MODES[channels])
    except InputError as error:
        raise InputError(f"input {info.name}: {error}") from error
    resized = picture.resize((width, height), Image.Resampling.BILINEAR)
    pixels = np.asarray(resized).reshape(1, height, width, channels)
    return np.repeat(scaling.apply(pixels, info), batch, axis=0).reshape(info.shape)


def takes_images(info: TensorInfo) -> bool:
    """Whether an input has the shape and type of an image."""
    fits = len(info.shape) in (3, 4) and info.shape[-1] in MODES
    return fits and info.dtype in ("int8", "uint8", "float16", "float32", "float64")


def _image_shape(info: TensorInfo) -> tuple[int, int, int, int]:
    """The input's shape as (batch, height, width, channels); InputError if it takes no pictures."""
    if not takes_images(info):
        raise InputError(
            f"input {info.name} is {info.dtype}{list(info.shape)}, not a picture; pass a .npy file"
        )
    shape = (1,) * (4 - len(info.shape)) + info.shape
    return shape[0], shape[1], shape[2], shape[3]
