"""LiteRT as the oracle: inputs by name and position, shapes, tensors, and what is refused."""

import sys
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from graphs import call, ints, model, x
from graphs.addition import addition
from numpy.typing import NDArray

from tflgpu.compiler.errors import ModelError
from tflgpu.compiler.litert.reference import Reference, ReferenceMissingError
from tflgpu.runtime import InputError, TensorInfo
from tflgpu.runtime.litert.module import KernelSet


def normal(*shape: int, seed: int = 7) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("kernels", get_args(KernelSet))
def test_reference_by_name_and_by_position(kernels: KernelSet) -> None:
    reference = Reference(addition(), kernels=kernels, threads=2)
    assert [info.name for info in reference.inputs] == ["a", "b"]
    assert reference.outputs == (TensorInfo("c", (1, 3, 5, 7), "float32"),)
    a, b = normal(1, 3, 5, 7, seed=7), normal(1, 3, 5, 7, seed=11)
    for inputs in ({"b": b, "a": a}, [a, b]):
        (c,) = reference.run(inputs)
        np.testing.assert_allclose(c, a + b, rtol=1e-6)


def test_reference_keeps_results_of_earlier_runs() -> None:
    reference = Reference(addition())
    a, b = normal(1, 3, 5, 7, seed=7), normal(1, 3, 5, 7, seed=11)
    (first,) = reference.run([a, b])
    reference.run([b, b])
    np.testing.assert_allclose(first, a + b, rtol=1e-6)


def test_reference_with_an_empty_output() -> None:
    part = call("SLICE", x(3, 5), ints(0, 2), ints(3, 0))
    reference = Reference(model({"y": part}).content)
    (y,) = reference.run([normal(3, 5)])
    assert y.shape == (3, 0)
    assert y.dtype == np.float32


@pytest.mark.parametrize(
    "shapes", [[(2, 3, 5, 7), (1, 3, 5, 7)], {"a": (2, 3, 5, 7)}], ids=["position", "name"]
)
def test_reference_with_another_shape(shapes: Any) -> None:
    reference = Reference(addition(), input_shapes=shapes)
    a, b = normal(2, 3, 5, 7, seed=7), normal(1, 3, 5, 7, seed=11)
    (c,) = reference.run([a, b])
    np.testing.assert_allclose(c, a + b, rtol=1e-6)


def test_reference_with_inputs_of_one_name() -> None:
    reference = Reference(addition("aac"), input_shapes=[(2, 3, 5, 7), (1, 3, 5, 7)])
    assert [(each.name, each.shape[0]) for each in reference.inputs] == [("a", 2), ("a", 1)]


def test_reference_refuses_wrong_inputs() -> None:
    reference = Reference(addition())
    with pytest.raises(InputError, match="no array is given for input b"):
        reference.run({"a": normal(1, 3, 5, 7)})
    with pytest.raises(
        InputError, match=r"input a: got float64\[1, 3, 5, 7\], but the model takes flo"
    ):
        reference.run([normal(1, 3, 5, 7).astype(np.float64)] * 2)
    with pytest.raises(ModelError, match="no input 'z'; the model has a, b"):
        Reference(addition(), input_shapes={"z": (1, 3)})


def test_reference_refuses_what_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="LiteRT cannot load this model"):
        Reference(b"no model" * 11)
    with pytest.raises(ModelError, match="LiteRT cannot load this model"):
        Reference(tmp_path / "missing.tflite")


def test_without_litert_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    with pytest.raises(ReferenceMissingError, match=r"pip install 'tflgpu\[litert\]'"):
        Reference(addition())
