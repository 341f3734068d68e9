"""Inputs from images, .npy files and random numbers, and which input each value is for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tflgpu.compiler.cli.input_arrays import Scaling, assign, load, load_inputs
from tflgpu.runtime import InputError, TensorInfo

ONE = (TensorInfo("x", (1, 5, 7, 3), "float32"),)


TWO = (*ONE, TensorInfo("a=b", (11,), "float32"))


def loaded(source: object, info: TensorInfo, seed: int = 7, **scaling: float) -> NDArray[Any]:
    return load(str(source), info, np.random.default_rng(seed), Scaling(**scaling))


def picture(path: Path, *shape: int) -> NDArray[np.uint8]:
    """Write a picture of random pixels."""
    pixels = np.random.default_rng(7).integers(1, 256, shape, np.uint8)
    Image.fromarray(pixels).save(path)
    return pixels


@pytest.mark.parametrize(
    ("values", "inputs", "expected"),
    [
        (["cat.png"], ONE, {"x": "cat.png"}),
        (["x=cat.png"], ONE, {"x": "cat.png"}),
        (["x=odd=name.png"], ONE, {"x": "odd=name.png"}),
        (["random"], ONE, {"x": "random"}),
        (["random"], TWO, {"x": "random", "a=b": "random"}),
        (["a=b=noise.npy", "random"], TWO, {"x": "random", "a=b": "noise.npy"}),
        (["a=b=random", "x=cat.png"], TWO, {"x": "cat.png", "a=b": "random"}),
        (["cat.png", "random"], ONE, {"x": "cat.png"}),
    ],
)
def test_each_input_gets_its_source(
    values: list[str], inputs: tuple[TensorInfo, ...], expected: dict[str, str]
) -> None:
    assert assign(values, inputs) == expected


def test_a_file_with_an_equals_sign_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture(tmp_path / "z=9.png", 3, 5, 3)
    monkeypatch.chdir(tmp_path)
    assert assign(["z=9.png"], ONE) == {"x": "z=9.png"}


@pytest.mark.parametrize(
    ("values", "inputs", "message"),
    [
        ([], ONE, "input x has no value; pass --input x=FILE or --input random"),
        (["x=cat.png"], TWO, "input a=b has no value"),
        (["cat.png"], TWO, "the model has several inputs, x, a=b; pass --input NAME=cat.png"),
        (["z=cat.png"], ONE, "the model has no input 'z'; its inputs are x"),
        (["x=cat.png", "x=dog.png"], ONE, "input x is given twice"),
        (["cat.png", "dog.png"], ONE, "input x is given twice"),
        (["x="], ONE, "input x has no value"),
    ],
)
def test_a_value_for_no_input_is_refused(
    values: list[str], inputs: tuple[TensorInfo, ...], message: str
) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        assign(values, inputs)


def test_random_floats_are_standard_normal() -> None:
    values = loaded("random", TensorInfo("x", (101, 103), "float32"))
    assert values.dtype == np.float32 and values.shape == (101, 103)
    assert abs(values.mean()) < 0.05 and abs(values.std() - 1) < 0.05
    assert np.count_nonzero(values) == values.size


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [("uint8", 0, 255), ("int8", -128, 127), ("int32", 1, 8), ("int64", 1, 8), ("bool", 0, 1)],
)
def test_random_integers_cover_their_range(dtype: str, low: int, high: int) -> None:
    values = loaded("random", TensorInfo("x", (101, 103), dtype))
    assert values.dtype == np.dtype(dtype)
    assert (int(values.min()), int(values.max())) == (low, high)


def test_random_numbers_follow_the_seed() -> None:
    sources = {"x": "random", "a=b": "random"}
    draws = [
        load_inputs(sources, TWO, np.random.default_rng(seed), Scaling()) for seed in (7, 7, 11)
    ]
    for name in sources:
        np.testing.assert_array_equal(draws[0][name], draws[1][name])
        assert not np.array_equal(draws[0][name], draws[2][name])


def test_no_random_text() -> None:
    with pytest.raises(
        InputError, match="input x is complex64, for which there are no random numbers"
    ):
        loaded("random", TensorInfo("x", (3,), "complex64"))


def test_an_array_is_taken_as_it_is(tmp_path: Path) -> None:
    values = np.random.default_rng(7).standard_normal((1, 5, 7, 3))
    np.save(tmp_path / "x.npy", values)
    result = loaded(tmp_path / "x.npy", ONE[0])
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, values.astype(np.float32))
    np.save(tmp_path / "large.npy", np.full((1, 5, 7, 3), 1e300))
    assert np.isinf(loaded(tmp_path / "large.npy", ONE[0])).all()


def test_an_array_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "shape.npy", np.ones((5, 7, 3), np.float32))
    np.save(tmp_path / "type.npy", np.ones((1, 5, 7, 3), np.int64))
    np.save(tmp_path / "object.npy", np.array([{}]), allow_pickle=True)
    (tmp_path / "text.npy").write_text("not an array")
    (tmp_path / "empty.npy").touch()
    np.savez(tmp_path / "archive.npz", np.ones(3))
    (tmp_path / "archive.npz").rename(tmp_path / "archive.npy")
    for name, header in (
        ("header", "{'descr': ["),
        ("huge", f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({10**15},)}}"),
    ):
        content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
        (tmp_path / f"{name}.npy").write_bytes(content)
    for name, message in (
        ("shape", r"contains float32\[5, 7, 3\], but the model takes float32\[1, 5, 7, 3\]"),
        ("type", r"contains int64\[1, 5, 7, 3\]"),
        ("object", "is not a .npy file"),
        ("text", "is not a .npy file"),
        ("archive", "is not a .npy file: the magic string is not correct"),
        ("header", "is not a .npy file: .*multi-line"),
        ("huge", "is not a .npy file: Unable to allocate"),
        ("empty", "is not a .npy file"),
    ):
        with pytest.raises(InputError, match=f"input x: .*{name}.npy {message}"):
            loaded(tmp_path / f"{name}.npy", ONE[0])


def test_pixels_become_0_to_1(tmp_path: Path) -> None:
    pixels = picture(tmp_path / "x.png", 5, 7, 3)
    result = loaded(tmp_path / "x.png", ONE[0])
    assert result.dtype == np.float32
    np.testing.assert_allclose(result[0], pixels / 255, rtol=1e-6)


def test_pixels_are_scaled_as_asked(tmp_path: Path) -> None:
    pixels = picture(tmp_path / "x.png", 5, 7, 3)
    result = loaded(tmp_path / "x.png", ONE[0], mean=127.5, std=127.5)
    np.testing.assert_allclose(result[0], pixels / 127.5 - 1, atol=1e-6)
    assert str(Scaling(127.5, 127.5)) == "pixels 0..255 become -1..1"
    assert str(Scaling()) == "pixels 0..255 become 0..1"
    with pytest.raises(InputError, match="std is 0"):
        Scaling(std=0)


def test_integer_inputs_take_pixels(tmp_path: Path) -> None:
    pixels = picture(tmp_path / "x.png", 5, 7, 3)
    unsigned = loaded(tmp_path / "x.png", TensorInfo("x", (1, 5, 7, 3), "uint8", 0.5, 3))
    np.testing.assert_array_equal(unsigned[0], pixels)
    signed = loaded(tmp_path / "x.png", TensorInfo("x", (5, 7, 3), "int8", 0.5, 3))
    np.testing.assert_array_equal(signed, pixels.astype(int) - 128)


def test_an_image_is_resized_to_height_and_width(tmp_path: Path) -> None:
    Image.new("RGB", (26, 22), (10, 20, 30)).save(tmp_path / "x.png")
    result = loaded(tmp_path / "x.png", TensorInfo("x", (2, 11, 13, 3), "float32"), std=1.0)
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


def test_what_is_no_image_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.png").write_text("no picture")
    with pytest.raises(InputError, match=r"input x: .*x.png is not a readable image"):
        loaded(tmp_path / "x.png", ONE[0])
    with pytest.raises(InputError, match=r"input x: there is no file .*none.png"):
        loaded(tmp_path / "none.png", ONE[0])
    with pytest.raises(InputError, match="input x: there is no file xxx"):
        loaded(Path("x" * 300), ONE[0])
    picture(tmp_path / "x.png", 5, 7, 3)
    for shape, dtype in (((1, 5, 7, 2), "float32"), ((3,), "float32"), ((5, 7, 3), "int32")):
        with pytest.raises(InputError, match=r"not an image; pass a \.npy file"):
            loaded(tmp_path / "x.png", TensorInfo("x", shape, dtype))
