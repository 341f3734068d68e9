"""Inputs from images, .npy files and random numbers, and which input each value is for."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tflgpu.compiler.cli.input_arrays import InputValues, assign, load
from tflgpu.compiler.frontend.metadata import Metadata
from tflgpu.compiler.pictures.scaling import Scaling
from tflgpu.runtime import InputError, TensorInfo

ONE = (TensorInfo("x", (1, 5, 7, 3), "float32"),)

TWO = (*ONE, TensorInfo("a=b", (11,), "float32"))


def loaded(source: object, info: TensorInfo, seed: int = 7) -> NDArray[Any]:
    return load(str(source), info, np.random.default_rng(seed), Scaling())


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
    (tmp_path / "z=9.png").touch()
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
    draws = [InputValues(("random",), seed).read(TWO, Metadata()) for seed in (7, 7, 11)]
    for name in ("x", "a=b"):
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
    np.save(tmp_path / "axes.npy", np.ones((1, 3, 5, 7), np.float32))
    np.save(tmp_path / "type.npy", np.ones((1, 5, 7, 3), np.int64))
    np.save(tmp_path / "bytes.npy", np.ones((1, 5, 7, 3), np.uint8))
    np.save(tmp_path / "object.npy", np.array([{}]), allow_pickle=True)
    (tmp_path / "text.npy").write_text("not an array")
    (tmp_path / "empty.npy").touch()
    np.savez(tmp_path / "archive.npz", np.ones(3))
    with pytest.raises(InputError, match=r"input x: .*archive\.npz is an archive of arrays; save"):
        loaded(tmp_path / "archive.npz", ONE[0])
    (tmp_path / "archive.npz").rename(tmp_path / "archive.npy")
    for name, header in (
        ("header", "{'descr': ["),
        ("huge", f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({10**15},)}}"),
    ):
        content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
        (tmp_path / f"{name}.npy").write_bytes(content)
    for name, message in (
        ("shape", r"contains float32\[5, 7, 3\], but the model takes float32\[1, 5, 7, 3\]"),
        ("axes", r"contains .*; arrange its axes: x.transpose\(0, 2, 3, 1\)"),
        ("type", r"contains int64\[1, 5, 7, 3\].*; convert it: x.astype"),
        ("bytes", "contains uint8.*; if these are pixels, scale them as the model was trained"),
        ("object", "as a .npy file: Object arrays"),
        ("text", "as a .npy file"),
        ("archive", "as a .npy file: the magic string is not correct"),
        ("header", "as a .npy file: .*multi-line"),
        ("huge", "as a .npy file: Unable to allocate"),
        ("empty", "as a .npy file"),
    ):
        with pytest.raises(InputError, match=f"input x: .*{name}.npy {message}"):
            loaded(tmp_path / f"{name}.npy", ONE[0])


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"input x: there is no file .*none.png"):
        loaded(tmp_path / "none.png", ONE[0])
    with pytest.raises(InputError, match=r"input x: .* is a folder, not a file"):
        loaded(tmp_path, ONE[0])
    with pytest.raises(InputError, match="input x: there is no file xxx"):
        loaded(Path("x" * 300), ONE[0])
