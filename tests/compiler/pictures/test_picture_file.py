"""Inputs made of image files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tflgpu.compiler.pictures.picture_file import picture_array
from tflgpu.compiler.pictures.scaling import Scaling
from tflgpu.runtime import InputError, TensorInfo

ONE = TensorInfo("x", (1, 5, 7, 3), "float32")


def loaded(path: Path, info: TensorInfo, scaling: Scaling | None = None) -> NDArray[Any]:
    return picture_array(str(path), info, scaling or Scaling())


def picture(path: Path, *shape: int) -> NDArray[np.uint8]:
    """Write a picture of random pixels."""
    pixels = np.random.default_rng(7).integers(1, 256, shape, np.uint8)
    Image.fromarray(pixels).save(path)
    return pixels


def test_pixels_become_0_to_1(tmp_path: Path) -> None:
    pixels = picture(tmp_path / "x.png", 5, 7, 3)
    result = loaded(tmp_path / "x.png", ONE)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result[0], pixels / 255, rtol=1e-6)


def test_pixels_are_scaled_as_asked(tmp_path: Path) -> None:
    pixels = picture(tmp_path / "x.png", 5, 7, 3)
    result = loaded(tmp_path / "x.png", ONE, Scaling((127.5,), (127.5,)))
    np.testing.assert_allclose(result[0], pixels / 127.5 - 1, atol=1e-6)


def test_integer_inputs_take_pixels(tmp_path: Path) -> None:
    pixels = picture(tmp_path / "x.png", 5, 7, 3)
    unsigned = loaded(tmp_path / "x.png", TensorInfo("x", (1, 5, 7, 3), "uint8", 0.5, 3))
    np.testing.assert_array_equal(unsigned[0], pixels)
    signed = loaded(tmp_path / "x.png", TensorInfo("x", (5, 7, 3), "int8", 0.5, 3))
    np.testing.assert_array_equal(signed, pixels.astype(int) - 128)


def test_an_image_is_resized_to_height_and_width(tmp_path: Path) -> None:
    Image.new("RGB", (26, 22), (10, 20, 30)).save(tmp_path / "x.png")
    result = loaded(
        tmp_path / "x.png", TensorInfo("x", (2, 11, 13, 3), "float32"), Scaling(std=(1.0,))
    )
    assert result.shape == (2, 11, 13, 3)
    np.testing.assert_array_equal(result, np.broadcast_to([10, 20, 30], (2, 11, 13, 3)))


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_an_image_gets_the_channels_of_the_input(tmp_path: Path, channels: int) -> None:
    gray = picture(tmp_path / "x.png", 5, 7)
    result = loaded(tmp_path / "x.png", TensorInfo("x", (1, 5, 7, channels), "uint8"))
    for channel in range(min(channels, 3)):
        np.testing.assert_array_equal(result[0, :, :, channel], gray)
    if channels == 4:
        np.testing.assert_array_equal(result[0, :, :, 3], np.full((5, 7), 255))


def test_a_photograph_is_turned_upright(tmp_path: Path) -> None:
    pixels = np.random.default_rng(7).integers(1, 256, (7, 5, 3), np.uint8)
    tags = Image.Exif()
    tags[0x0112] = 6
    Image.fromarray(pixels).save(tmp_path / "x.png", exif=tags)
    result = loaded(tmp_path / "x.png", TensorInfo("x", (1, 5, 7, 3), "uint8"))
    np.testing.assert_array_equal(result[0], np.rot90(pixels, -1))


def test_damaged_images_are_refused(tmp_path: Path) -> None:
    """Whatever Pillow raises: a SyntaxError for the PNG, a NotImplementedError for the DDS."""
    picture(tmp_path / "x.png", 5, 7, 3)
    content = bytearray((tmp_path / "x.png").read_bytes())
    content[29] ^= 1  # the checksum of the header
    (tmp_path / "x.png").write_bytes(content)
    picture(tmp_path / "x.dds", 5, 7, 3)
    content = bytearray((tmp_path / "x.dds").read_bytes())
    content[80:88] = b"\x04\x00\x00\x00ABCD"  # an unknown compression
    (tmp_path / "x.dds").write_bytes(content)
    for name in ("x.png", "x.dds"):
        with pytest.raises(InputError, match=rf"input x: .*{name} is not a readable picture"):
            loaded(tmp_path / name, ONE)


def test_what_is_no_image_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.png").write_text("no picture")
    with pytest.raises(InputError, match=r"input x: .*x.png is not a readable picture"):
        loaded(tmp_path / "x.png", ONE)
    picture(tmp_path / "x.png", 5, 7, 3)
    for shape, dtype in (((1, 5, 7, 2), "float32"), ((3,), "float32"), ((5, 7, 3), "int32")):
        with pytest.raises(InputError, match=r"not a picture; pass a \.npy file"):
            loaded(tmp_path / "x.png", TensorInfo("x", shape, dtype))
