"""Operators that functions of the application compute."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import invoke
from devices import Way
from graphs.custom import ADDED, OPTIONS, SHAPE, swirled

import tflgpu
from tflgpu.compiler import ModelError, OptionError, UnsupportedError
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Array, Graph, Op, Tensor


def test_a_function_computes_an_operator(way: Way, tmp_path: Path) -> None:
    """Operands in their order, with constants and options; the rest stays on the device."""
    given: list[object] = []

    def swirl(size: Array, nothing: None, added: Array, options: bytes) -> tuple[Array, Array]:
        given.extend([nothing, added.tolist(), options])
        return size[:, ::-1] + added, size * 2

    folder = tflgpu.compile(
        swirled(), tmp_path, target=way.target, device=way.profile, custom_ops=["Swirl"]
    )
    x = np.random.default_rng(3).standard_normal(SHAPE).astype(np.float32)
    with tflgpu.load(folder, device=way.device, custom_ops={"Swirl": swirl}) as session:
        (part,) = session.plan.parts
        assert (part.function, part.operators, part.file) == ("Swirl", (1,), "fallback/0.npz")
        assert session.plan.dispatches
        results = session.run(x)
    assert given == [None, ADDED.tolist(), OPTIONS]
    np.testing.assert_allclose(results["y"], np.exp(abs(x)[:, ::-1] + ADDED), rtol=1e-5)
    np.testing.assert_allclose(results["rest"], -2 * abs(x), rtol=1e-6)


def test_without_its_name_the_operator_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"operator 1 Swirl: .*custom_ops, --custom-op"):
        tflgpu.compile(swirled(), tmp_path, device="cpu", fallback="none")


def test_a_name_that_no_operator_has(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="the model has no operator 'Twirl'; it has 4: ABS, EXP"):
        tflgpu.compile(swirled(), tmp_path, device="cpu", custom_ops=["Swirl", "Twirl"])
    with pytest.raises(OptionError, match=r"custom_ops=.* give a tuple of operator names"):
        tflgpu.Options(custom_ops=(3,))  # type: ignore[arg-type]


def test_beside_parts_on_litert(opencl_device: str, tmp_path: Path) -> None:
    """An operator on LiteRT before the function's, and one after it, are parts of their own."""
    options: dict[str, Any] = {
        "device": opencl_device,
        "custom_ops": ["Swirl"],
        "fallback_ops": ["ABS", "EXP"],
    }
    with pytest.warns(tflgpu.FallbackWarning):
        folder = tflgpu.compile(swirled(), tmp_path, **options)
    functions = {"Swirl": lambda size, nothing, added: (size + added, size)}
    x = np.random.default_rng(5).standard_normal(SHAPE).astype(np.float32)
    with tflgpu.load(folder, device=opencl_device, custom_ops=functions) as session:
        assert [part.function for part in session.plan.parts] == ["", "Swirl", ""]
        results = session.run(x)
    np.testing.assert_allclose(results["y"], np.exp(abs(x) + ADDED), rtol=1e-5)
    np.testing.assert_allclose(results["rest"], -abs(x), rtol=1e-6)


def test_types_that_no_array_has(tmp_path: Path) -> None:
    graph = Graph("handle")
    x, handle, y = Tensor("x", (3,)), Tensor("handle", (), "resource"), Tensor("y", (3,))
    graph.add(Op("Open", (x,), (handle,)))
    graph.add(Op("Ask", (handle,), (y,), {}, 1))
    graph.inputs, graph.outputs = [x], [y]
    graph.input_names, graph.output_names = ["x"], ["y"]
    with pytest.raises(
        (UnsupportedError, ModelError), match="a function cannot be given handle, of type resource"
    ):
        tflgpu.compile(write(graph), tmp_path, device="cpu", custom_ops=["Open", "Ask"])


def test_commands_list_functions_of_the_application(tmp_path: Path) -> None:
    model = tmp_path / "swirled.tflite"
    model.write_bytes(swirled())
    arguments = ("compile", model, "-o", tmp_path / "cache", "--device", "cpu")
    printed = invoke(*arguments, "--custom-op", "Swirl").output
    assert "in Python" in printed and "fallback/0.npz: Swirl" in printed
    assert "custom_ops, --custom-op" in invoke(*arguments, "--fallback", "none", code=1).output
