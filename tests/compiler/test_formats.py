"""How formats are read, and the errors for what is wrong with them."""

import re
from typing import Any

import pytest

from tflgpu.compiler import OptionError, Options
from tflgpu.compiler.formats import PictureFormat, ScoresFormat, input_format, output_format


def test_every_option_of_a_picture() -> None:
    text = "rgba8, size=1920x1080, crop=center,resize = bilinear, mean=1/2.5/-3, std=127.5"
    expected = PictureFormat(
        "rgba8", (1920, 1080), "center", "bilinear", (1.0, 2.5, -3.0), (127.5,)
    )
    assert input_format("image", text) == expected
    assert expected.channels == 4
    assert input_format("image", "rgb8") == PictureFormat("rgb8")


def test_formats_of_outputs() -> None:
    assert output_format("y", "softmax") == ScoresFormat("softmax")
    assert output_format("y", "argmax") == ScoresFormat("argmax")
    assert output_format("y", "rgb8, std=255") == PictureFormat("rgb8", std=(255.0,))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "unknown format ''; choose one of rgba8, rgb8, gray8"),
        ("bgra8", "unknown format 'bgra8'; choose one of rgba8, rgb8, gray8"),
        ("softmax", "unknown format 'softmax'; choose one of rgba8, rgb8, gray8"),
        ("rgba8, men=3", "unknown option 'men' of rgba8; its options: size, crop, resize, mean, "),
        ("rgba8, resize", "'resize' has no value; write options as key=value"),
        ("rgba8, std=2, std=3", "'std=3' is given twice"),
        ("rgba8, resize=cubic", "resize=cubic: choose one of bilinear, nearest"),
        ("rgba8, crop=left", "crop=left: choose one of center"),
        ("rgba8, size=1920", "size=1920 is not WIDTHxHEIGHT, such as 1920x1080"),
        ("rgba8, size=0x4", "size=0x4 is not WIDTHxHEIGHT"),
        (
            "rgba8, size=99999x4",
            "size=99999x4 is not WIDTHxHEIGHT, such as 1920x1080, of up to 16384 pixels each",
        ),
        ("rgba8, mean=1/b", "mean=1/b is not a number, or one for each channel"),
        ("rgba8, mean=nan", "mean=nan is not a number"),
        ("rgba8, std=0", "std is 0, or too small"),
        ("rgba8, std=1e-60", "std is 0, or too small"),
        ("rgba8, mean=1e300", "mean=1e300 is not a number"),
    ],
)
def test_what_is_wrong_with_an_input(text: str, problem: str) -> None:
    with pytest.raises(OptionError, match=re.escape(f"inputs['image']={text!r}: {problem}")):
        Options(inputs=(("image", text),))


def test_a_format_of_the_only_input_names_the_option() -> None:
    with pytest.raises(OptionError, match=r"^inputs='bgra8': unknown format"):
        Options(inputs=(("", "bgra8"),))


def test_sizes_with_very_many_digits() -> None:
    with pytest.raises(OptionError, match="is not WIDTHxHEIGHT"):
        Options(inputs=(("image", f"rgba8, size={'9' * 5000}x9"),))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("softmax, beta=2", "unknown option 'beta' of softmax; its options: none"),
        ("top5", "unknown format 'top5'; choose one of argmax, softmax, rgba8, rgb8, gray8"),
        ("rgba8, size=3x4", "unknown option 'size' of rgba8; its options: mean, std"),
    ],
)
def test_what_is_wrong_with_an_output(text: str, problem: str) -> None:
    with pytest.raises(OptionError, match=re.escape(f"outputs['y']={text!r}: {problem}")):
        Options(outputs=(("y", text),))


def test_formats_are_pairs() -> None:
    formats: Any = {"image": "rgb8"}
    with pytest.raises(OptionError, match=r"give a tuple of \(name, format\) pairs"):
        Options(inputs=formats)
    with pytest.raises(OptionError, match="give a format as a string, such as 'rgba8'"):
        Options(outputs=(("y", formats),))


def test_two_formats_of_one_input() -> None:
    with pytest.raises(OptionError, match="give one format for each name"):
        Options(inputs=(("image", "rgb8"), ("image", "rgba8")))
