"""Formats of inputs and outputs, against LiteRT's own operators on the same pixels."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from agreement import difference, run
from devices import Attached
from graphs import Call, Input, Value, call, ints, known, model, quantized, typed, x, xq

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.errors import OptionError
from tflgpu.compiler.ir import Array, Shape
from tflgpu.compiler.litert.reference import Reference

RANDOM = np.random.default_rng(19)
FILTERS = {
    channels: RANDOM.standard_normal((5, 3, 3, channels)).astype(np.float32)
    for channels in (1, 3, 4)
}
BIAS = RANDOM.standard_normal(5).astype(np.float32)


def windows(image: Value, channels: int) -> Call:
    """A convolution whose windows reach past the border, where the image continues with zeros."""
    options = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "fused_activation_function": "NONE"}
    dilation = {"dilation_h_factor": 1, "dilation_w_factor": 1}
    return call("CONV_2D", image, known(FILTERS[channels]), known(BIAS), **options, **dilation)


@dataclass(frozen=True)
class Picture:
    """A format, and what it comes to."""

    text: str
    picture: tuple[int, int, int, int]  # The shape of what the application has.
    part: tuple[int, int, int, int]  # Top, left, height and width of what is read.
    image: tuple[int, int, int, int]  # The shape of what the model takes.
    resize: str = ""
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)

    def oracle(self) -> Call:
        """The same with LiteRT's operators, on the pixels and channels that are read."""
        batch, rows, columns, channels = self.image
        value: Value = x(batch, *self.part[2:], channels)
        if self.resize:
            centers = {"half_pixel_centers": True, "align_corners": False}
            value = call(self.resize, value, ints(rows, columns), **centers)
        value = call("SUB", value, known(np.asarray(self.mean, np.float32)))
        return windows(call("DIV", value, known(np.asarray(self.std, np.float32))), channels)

    def read(self, pixels: Array) -> Array:
        top, left, height, width = self.part
        part = pixels[:, top : top + height, left : left + width, : self.image[3]]
        return part.astype(np.float32)


BILINEAR = "RESIZE_BILINEAR"

PICTURES = {
    "as large as the image": Picture(
        "rgba8, mean=127.5, std=127.5",
        picture=(1, 6, 5, 4),
        part=(0, 0, 6, 5),
        image=(1, 6, 5, 3),
        mean=(127.5,),
        std=(127.5,),
    ),
    "smaller": Picture(
        "rgb8, size=13x11, resize=bilinear, mean=120/110/100, std=58/57/56",
        picture=(1, 11, 13, 3),
        part=(0, 0, 11, 13),
        image=(1, 7, 5, 3),
        resize=BILINEAR,
        mean=(120, 110, 100),
        std=(58, 57, 56),
    ),
    "larger": Picture(
        "rgba8, size=5x4, resize=bilinear", (1, 4, 5, 4), (0, 0, 4, 5), (1, 9, 17, 3), BILINEAR
    ),
    "the middle of a wide one": Picture(
        "rgba8, size=19x8, crop=center, resize=bilinear, std=255",
        picture=(1, 8, 19, 4),
        part=(0, 5, 8, 8),
        image=(1, 6, 6, 3),
        resize=BILINEAR,
        std=(255,),
    ),
    "the middle of a high one": Picture(
        "rgb8, size=8x19, crop=center, resize=bilinear",
        picture=(1, 19, 8, 3),
        part=(7, 0, 4, 8),
        image=(1, 5, 10, 3),
        resize=BILINEAR,
    ),
    "the middle as it is": Picture(
        "rgb8, size=17x13, crop=center", (1, 13, 17, 3), (2, 4, 9, 8), (1, 9, 8, 3)
    ),
    "gray": Picture(
        "gray8, size=9x7, resize=bilinear", (2, 7, 9, 1), (0, 0, 7, 9), (2, 5, 4, 1), BILINEAR
    ),
    "the nearest pixels": Picture(
        "rgba8, size=11x13, resize=nearest",
        picture=(1, 13, 11, 4),
        part=(0, 0, 13, 11),
        image=(1, 7, 5, 3),
        resize="RESIZE_NEAREST_NEIGHBOR",
    ),
    "several with four channels": Picture(
        "rgba8, size=9x7, resize=bilinear", (2, 7, 9, 4), (0, 0, 7, 9), (2, 5, 4, 4), BILINEAR
    ),
    "several with three channels": Picture(
        "rgb8, size=9x7, resize=bilinear", (3, 7, 9, 3), (0, 0, 7, 9), (3, 5, 4, 3), BILINEAR
    ),
}


def drawn(shapes: Mapping[str, Shape]) -> dict[str, Array]:
    """Pixels for each name, the same in every test."""
    random = np.random.default_rng(19)
    return {name: random.integers(0, 256, shape).astype(np.uint8) for name, shape in shapes.items()}


def test_pictures_of_each_format_agree(attached: Attached, tmp_path: Path) -> None:
    """All in one model, which compiles in a fraction of the time."""
    images = {name: windows(x(*row.image), row.image[3]) for name, row in PICTURES.items()}
    formats = tuple((f"{name}/in0", row.text) for name, row in PICTURES.items())
    options = Options(target=attached.target, device=attached.device, inputs=formats)
    compiled = pipeline.build(model(images).content, options)
    for info, row in zip(compiled.plan.inputs, PICTURES.values(), strict=True):
        assert (info.shape, info.dtype) == (row.picture, "uint8")
    pixels = drawn({f"{name}/in0": row.picture for name, row in PICTURES.items()})
    found = run(compiled, attached.device, tmp_path, pixels)
    oracle = model({name: row.oracle() for name, row in PICTURES.items()})
    parts = {name: PICTURES[name[:-4]].read(array) for name, array in pixels.items()}
    expected = Reference(oracle.content).run(parts)
    for (name, actual), wanted in zip(found.items(), expected, strict=True):
        assert difference(actual, wanted, 2e-5) is None, name


def test_pictures_of_a_part_on_litert(attached: Attached, tmp_path: Path) -> None:
    """What reads the picture stays on the device, however little it computes."""
    row = PICTURES["smaller"]
    options = Options(
        target=attached.target,
        device=attached.device,
        fallback_ops=("CONV_2D",),
        inputs=(("y/in0", row.text),),
    )
    made = model({"y": windows(x(*row.image), 3)})
    compiled = pipeline.build(made.content, options)
    assert [part.operators for part in compiled.plan.parts] == [(0,)]
    pixels = drawn({"y/in0": row.picture})
    found = run(compiled, attached.device, tmp_path, pixels)["y"]
    read = {name: row.read(array) for name, array in pixels.items()}
    expected = Reference(model({"y": row.oracle()}).content).run(read)[0]
    assert difference(found, expected, 2e-5) is None


def integers(dtype: str, scale: float, zero: int) -> tuple[Input, Call]:
    image = xq(1, 4, 5, 3, dtype=dtype, scale=scale, zero=zero)
    moved = quantized("RESHAPE", image, ints(1, 60), dtype=dtype, scale=scale, zero=zero)
    return image, moved


def test_pictures_of_quantized_models(attached: Attached, tmp_path: Path) -> None:
    """Without mean and std, bytes are a model's integers; int8 is 128 less."""
    values = {
        "uint8": integers("uint8", 0.0173, 131)[1],
        "int8": integers("int8", 0.0173, -3)[1],
        "normalized": integers("uint8", 1 / 64, 100)[1],
    }
    formats = (
        *(("uint8/in0", "rgb8"), ("int8/in0", "rgba8")),
        ("normalized/in0", "rgba8, mean=128, std=64"),
    )
    options = Options(target=attached.target, device=attached.device, inputs=formats)
    compiled = pipeline.build(model(values).content, options)
    pixels = drawn({info.name: info.shape for info in compiled.plan.inputs})
    found = run(compiled, attached.device, tmp_path, pixels)
    seen = {name: array[..., :3].reshape(1, 60).astype(int) for name, array in pixels.items()}
    np.testing.assert_array_equal(found["uint8"], seen["uint8/in0"])
    np.testing.assert_array_equal(found["int8"], seen["int8/in0"] - 128)
    expected = np.clip(seen["normalized/in0"] - 128 + 100, 0, 255)
    np.testing.assert_array_equal(found["normalized"], expected)


def test_outputs_have_their_formats(attached: Attached, tmp_path: Path) -> None:
    scale = known(np.float32(1.5))
    values: Mapping[str, Value] = {
        "softmax": call("MUL", x(3, 19), scale),
        "argmax": call("MUL", x(3, 19), scale),
        "integers": quantized("RELU", xq(2, 19, dtype="int8", scale=0.1), dtype="int8", scale=0.1),
        "rgba8": call("MUL", x(1, 5, 7, 3), scale),
        "rgb8": call("MUL", x(1, 5, 7, 3), scale),
        "four": call("MUL", x(2, 5, 7, 4), scale),
        "gray8": call("MUL", x(2, 5, 7, 1), scale),
    }
    formats = (
        *(("softmax", "softmax"), ("argmax", "argmax"), ("integers", "softmax")),
        *(("rgba8", "rgba8, mean=127.5, std=100"), ("rgb8", "rgb8, mean=100/110/120, std=90")),
        *(("four", "rgba8, std=99, mean=99"), ("gray8", "gray8, std=70, mean=99")),
    )
    made = model(values)
    options = Options(target=attached.target, device=attached.device, outputs=formats)
    found = run(pipeline.build(made.content, options), attached.device, tmp_path, made.inputs)
    plain = dict(zip(values, Reference(made.content).run(made.inputs), strict=True))
    real = (plain["integers"].astype(np.float32)) * np.float32(0.1)
    for name, scores in (("softmax", plain["softmax"]), ("integers", real)):
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        np.testing.assert_allclose(found[name], powers / powers.sum(-1, keepdims=True), atol=1e-6)
    np.testing.assert_array_equal(found["argmax"], plain["argmax"].argmax(-1))
    assert found["argmax"].dtype == np.int32
    means = {"rgba8": [127.5], "rgb8": [100, 110, 120], "four": [99], "gray8": [99]}
    for name, std in (("rgba8", 100), ("rgb8", 90), ("four", 99), ("gray8", 70)):
        numbers = plain[name] * np.float32(std) + np.asarray(means[name], np.float32)
        expected = np.clip(np.rint(numbers), 0, 255)
        colours = found[name][..., : expected.shape[-1]]
        assert found[name].dtype == np.uint8
        assert np.abs(colours - expected).max() <= (np.abs(numbers % 1 - 0.5).min() < 1e-4)
    assert found["rgba8"].shape == (1, 5, 7, 4) and found["rgb8"].shape == (1, 5, 7, 3)
    np.testing.assert_array_equal(found["rgba8"][..., 3], 255)


IMAGE = model(
    {
        "y": call("RELU", x(1, 6, 5, 3)),
        "gray": call("RELU", x(1, 6, 5, 1)),
        "z": typed("int32", "SHAPE", x(2, 3)),
    }
).content


@pytest.mark.parametrize(
    ("inputs", "problem"),
    [
        (("image", "rgb8"), "inputs: the model has no input 'image'; it has "),
        (("z/in0", "rgb8"), "the model's input has shape [2, 3], not [batch, height, width, "),
        (("y/in0", "gray8"), "the model's input has 3 channels, but gray8 has 1"),
        (
            ("y/in0", "rgb8, size=9x9"),
            "a picture of 9x9 does not fit the model's input of 5x6; add resize=bilinear, or "
            "crop=center for larger pictures",
        ),
        (
            ("y/in0", "rgb8, size=4x9, crop=center"),
            "a picture of 4x9 does not fit the model's input of 5x6",
        ),
        (("y/in0", "rgba8, std=1/2"), "inputs['y/in0']: std has 2 numbers; give 1 or 3"),
        (("gray/in0", "gray8, std=1/2"), "inputs['gray/in0']: std has 2 numbers; give 1"),
    ],
)
def test_inputs_that_a_format_does_not_fit(inputs: tuple[str, str], problem: str) -> None:
    with pytest.raises(OptionError) as raised:
        pipeline.build(IMAGE, Options(device="cpu", inputs=(inputs,)))
    assert problem in str(raised.value) and "1 or 1" not in str(raised.value)


def test_too_few_channels() -> None:
    content = model({"y": call("RELU", x(1, 6, 5, 4))}).content
    message = "the model's input has 4 channels, but rgb8 has 3"
    with pytest.raises(OptionError, match=re.escape(message)):
        pipeline.build(content, Options(device="cpu", inputs=(("y/in0", "rgb8"),)))
    with pytest.raises(OptionError, match=re.escape(f"inputs['y/in0']: {message}")):
        pipeline.build(content, Options(device="cpu", inputs=(("", "rgb8"),)))


@pytest.mark.parametrize(
    ("outputs", "problem"),
    [
        (("scores", "softmax"), "outputs: the model has no output 'scores'; it has "),
        (("z", "softmax"), "outputs['z']: the model's output is int32, not real numbers"),
        (("z", "rgb8"), "outputs['z']: the model's output has shape [2], not [batch, height, "),
    ],
)
def test_outputs_that_a_format_does_not_fit(outputs: tuple[str, str], problem: str) -> None:
    with pytest.raises(OptionError, match=re.escape(problem)):
        pipeline.build(IMAGE, Options(device="cpu", outputs=(outputs,)))
