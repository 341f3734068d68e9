"""`tflgpu run MODEL PHOTO`: the user's own cache, the model's metadata, and pictures of outputs."""

from pathlib import Path

import numpy as np
import pytest
from commands import as_json, invoke
from described import described
from graphs import call, model, x
from paths import DIGITS, DIGITS_MODEL, SEVEN
from PIL import Image

from tflgpu.compiler import pipeline
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.user_cache import user_cache

LABELS = [f"digit {n}" for n in range(10)]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the user that is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def digits(tmp_path: Path) -> Path:
    """The digits network with metadata."""
    path = tmp_path / "digits.tflite"
    path.write_bytes(described(DIGITS_MODEL, (0.0,), (255.0,), LABELS))
    return path


def test_a_model_is_compiled_once(
    digits: Path, opencl_device: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("run", digits, SEVEN, "--device", opencl_device)
    first = invoke(*command)
    assert user_cache().is_relative_to(home)
    assert f"note: compiled into {user_cache()}, so that the next run" in first.stderr
    assert "image: pixels 0..255 become 0..1, as the model's metadata says" in first.stderr
    assert first.stdout.split("score", 1)[1].split()[:2] == ["digit", "7"]
    monkeypatch.setattr(pipeline, "build", lambda *_: 1 / 0)
    again = invoke(*command)
    assert again.stdout == first.stdout and "compiled into" not in again.stderr
    (entry,) = as_json("cache", "list")["entries"]
    assert entry["model"] == "digits.tflite"
    invoke("cache", "clear")
    assert as_json("cache", "list")["entries"] == []


@pytest.mark.parametrize("name", ["plan.tflgpu", "weights.bin"])
def test_a_damaged_entry_is_compiled_again(digits: Path, opencl_device: str, name: str) -> None:
    command = ("run", digits, SEVEN, "--device", opencl_device)
    first = invoke(*command)
    (damaged,) = user_cache().rglob(name)
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    healed = invoke(*command)
    assert healed.stdout == first.stdout and "compiled into" in healed.stderr
    assert "compiled into" not in invoke(*command).stderr


def test_a_cache_has_the_metadata(digits: Path, opencl_device: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    invoke("compile", digits, "-o", cache, "--device", opencl_device)
    digits.unlink()
    command = ("run", cache, SEVEN, "--device", opencl_device)
    named = as_json(*command)["classes"]
    assert named[0]["label"] == "digit 7" and len(named) == 5
    assert "become 0..1, as the model's metadata says (change" in invoke(*command).stderr


def test_a_cache_without_metadata(digits: Path, opencl_device: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    invoke("compile", DIGITS_MODEL, "-o", cache, "--device", opencl_device)
    command = ("run", cache, SEVEN, "--device", opencl_device)
    unnamed = invoke(*command)
    assert "0..1, which is assumed (if the model takes -1..1: --mean 127.5 --std" in unnamed.stderr
    assert "note: the model's metadata has no labels; give them with --labels" in unnamed.stderr
    assert unnamed.stdout.split("score", 1)[1].split()[:2] == ["class", "7"]
    given = as_json(*command, "--labels", DIGITS / "labels.txt")["classes"]
    assert given[0]["label"] == "7" and given[0]["score"] > 0.9
    wrong = invoke("run", digits, SEVEN, "--model", digits, code=2)
    assert "--model chooses from a cache" in wrong.stderr


def test_an_image_is_written(opencl_device: str, tmp_path: Path) -> None:
    file, picture, output = tmp_path / "m.tflite", tmp_path / "picture.png", tmp_path / "out.png"
    file.write_bytes(model({"y": call("ABS", x(1, 8, 8, 3))}).content)
    pixels = np.random.default_rng(7).integers(0, 256, (8, 8, 3), np.uint8)
    Image.fromarray(pixels).save(picture)
    command = ("run", file, picture, "--device", opencl_device, "--output", output)
    shown = as_json(*command)
    assert shown["shown"]["kind"] == "image" and shown["output"] == str(output)
    with Image.open(output) as drawn:
        np.testing.assert_array_equal(np.asarray(drawn), pixels)
    masked = invoke(*command, "--show", "mask").stdout
    assert "Found: mask\n" in masked and masked.endswith(f"{output}\n")


def test_what_cannot_be_drawn(digits: Path, opencl_device: str, tmp_path: Path) -> None:
    command = ("run", digits, "--device", opencl_device)
    missing = tmp_path / "model.tflite"
    wrong = invoke("run", missing, SEVEN, code=1)
    assert wrong.stderr == f"error: there is no file {missing}\n"
    wrong = invoke(*command, "image=none.png", code=1)
    assert wrong.stderr == "error: there is no file image=none.png\n"
    wrong = invoke("run", missing, SEVEN, "--output", "out.txt", code=2)
    assert "out.txt must end in one of .npz, .png, .jpg" in wrong.stderr
    picture = ("--output", tmp_path / "out.png")
    without = invoke(*command, "random", *picture, code=1)
    assert "there is no picture to draw over: exactly one input must be a picture" in without.stderr
    nothing = invoke(*command, SEVEN, *picture, code=1)
    assert "it is not clear what the outputs show; say it with --show boxes" in nothing.stderr
    assert not (tmp_path / "out.png").exists()


def test_a_picture_for_what_takes_none(opencl_device: str, tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(model({"y": call("ABS", x(28, 28))}).content)
    fault = invoke("run", path, SEVEN, "--device", opencl_device, code=1)
    assert "is float32[28, 28], not a picture; pass a .npy file" in fault.stderr


def test_a_picture_is_scaled_on_the_device(
    digits: Path, opencl_device: str, tmp_path: Path
) -> None:
    """Its scaling is a part of the compiled model, so nothing is assumed here."""
    cache, picture = tmp_path / "cache", "gray8, std=255"
    where = ("-o", cache, "--device", opencl_device)
    invoke("compile", DIGITS_MODEL, *where, "--input-format", picture)
    command = ("run", cache, SEVEN, "--device", opencl_device)
    result = invoke(*command)
    assert "pixels" not in result.stderr
    plain = as_json("run", digits, SEVEN, "--device", opencl_device)["classes"]
    scores = as_json(*command)["classes"]
    expected = [item["score"] for item in plain]
    assert [item["score"] for item in scores] == pytest.approx(expected, rel=1e-4)
    ignored = "--mean and --std are ignored: no picture is scaled here"
    assert ignored in invoke(*command, "--mean", 3).stderr


@pytest.mark.filterwarnings("default")
def test_damaged_metadata_is_a_warning(digits: Path, opencl_device: str) -> None:
    digits.write_bytes(digits.read_bytes().replace(b"M001", b"M002"))
    result = invoke("run", digits, SEVEN, "--device", opencl_device)
    assert "warning: the model's metadata is ignored: " in result.stderr
    assert "0..1, which is assumed" in result.stderr


def test_labels_of_what_has_no_classes(opencl_device: str, tmp_path: Path) -> None:
    path, picture, labels = tmp_path / "m.tflite", tmp_path / "p.png", tmp_path / "labels.txt"
    path.write_bytes(model({"y": call("ABS", x(1, 8, 8, 3))}).content)
    Image.new("RGB", (8, 8)).save(picture)
    labels.write_text("a\nb\n")
    command = ("run", path, picture, "--device", opencl_device, "--show", "image")
    result = invoke(*command, "--labels", labels)
    assert "warning: --labels is ignored: --show image names no classes\n" in result.stderr
    assert "--labels" not in invoke(*command).stderr
    printed = ("run", path, picture, "--device", opencl_device, "--labels", labels)
    advice = "no output has one score per class; if they name boxes or a mask, add --show boxes"
    assert advice in invoke(*printed, code=1).stderr


# -- what is said before anything is compiled -------------------------------------------------

WRONG = {
    "channels": (("--mean", "1/2", "--std", 3), "but it has 1"),
    "an input": (("--input", f"picture={SEVEN}"), "the model has no input 'picture'"),
    "no picture": ((DIGITS_MODEL,), "is not a readable picture"),
    "no folder": (("--output", "none/out.png"), "there is no folder none"),
    "nothing to draw": (("random", "--output", "out.png"), "there is no picture to draw over"),
}


@pytest.mark.parametrize("case", WRONG)
def test_arguments_are_checked_before_compiling(
    case: str, opencl_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "build", lambda *_: 1 / 0)
    options, message = WRONG[case]
    given = () if {"--input", "random", DIGITS_MODEL} & set(options) else (SEVEN,)
    wrong = invoke("run", DIGITS_MODEL, *given, *options, "--device", opencl_device, code=1)
    assert message in wrong.stderr


def test_an_option_that_is_given_twice() -> None:
    wrong = invoke("run", DIGITS_MODEL, SEVEN, "--mean", 1, "--std", 2, "--mean", 3, code=2)
    assert "--mean is given twice; give it once" in wrong.stderr


def test_a_profile_is_no_device_to_run_on() -> None:
    wrong = invoke("run", DIGITS_MODEL, SEVEN, "--device", "adreno", code=2)
    assert "adreno is a device profile, which kernels are compiled for" in wrong.stderr


def test_a_model_of_any_size_takes_the_picture_as_it_is(opencl_device: str, tmp_path: Path) -> None:
    path = tmp_path / "any.tflite"
    made = model({"y": call("ABS", x(1, 1, 1, 3))})
    (image,) = made.graph.inputs
    image.signature = (1, -1, -1, 3)
    path.write_bytes(write(made.graph))
    Image.new("RGB", (20, 10), (0, 255, 51)).save(tmp_path / "p.png")
    command = ("run", path, tmp_path / "p.png", "--device", opencl_device)
    assert as_json(*command)["outputs"][0]["shape"] == [1, 10, 20, 3]
    assert f"{image.name} takes pictures of any size: compiled for 20x10" in invoke(*command).stderr
    smaller = as_json(*command, "--input-shape", f"{image.name}=1,5,5,3")
    assert smaller["outputs"][0]["shape"] == [1, 5, 5, 3]


def test_a_family_is_recognized_and_a_guess_is_a_warning(
    opencl_device: str, tmp_path: Path
) -> None:
    content = model({"y": call("ABS", x(1, 8, 8, 3))}).content
    Image.new("RGB", (8, 8)).save(tmp_path / "p.png")
    for name, line in (
        ("mobilenet_v1_mine", "note: y/in0: pixels 0..255 become -1..1, as MobileNet takes them"),
        ("mine", "warning: y/in0: pixels 0..255 become 0..1, which is assumed"),
    ):
        path = tmp_path / f"{name}.tflite"
        path.write_bytes(content)
        shown = invoke("run", path, tmp_path / "p.png", "--device", opencl_device).stderr
        assert line in shown
        assert "y has three channels, as colors; --show image --output FILE.png draws it" in shown
