"""Copies of models whose numbers have other last bits, which show how far LiteRT can be off."""

from collections.abc import Mapping

import numpy as np
import pytest
from graphs import Model, Value, call, known, model, quantized, typed, x
from graphs.signatures import cached, two_signatures

from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Array, Graph, Quantization
from tflgpu.compiler.litert.variations import every_tensor, litert_outputs, other_last_bits

ULP = float(np.float32(2**-23))
ROUNDED = np.array([[0.1, -0.7, 1.3]], np.float32)


def copied(made: Model, seed: int = 7) -> tuple[Graph, Mapping[str, Array]]:
    """The graph of a model with other last bits, and its inputs."""
    graph = read(made.content)
    return graph, other_last_bits(graph, made.inputs, seed)


def constants(value: Value) -> list[Array]:
    """The constants of a model's copy, in the order of its operators."""
    graph, _ = copied(model({"y": value}))
    return [t.data for op in graph.ops for t in op.reads if t.data is not None]


def test_constants_that_were_rounded_become_their_neighbours() -> None:
    (found,) = constants(call("ADD", x(4, 3), known(ROUNDED)))
    assert (found != ROUNDED).all()
    np.testing.assert_allclose(found, ROUNDED, rtol=ULP)


def test_numbers_that_are_exact_stay() -> None:
    exact = np.array([0.0, -0.0, 1.0, -0.375, 3000.0, np.inf, -np.inf, np.nan], np.float32)
    (found,) = constants(call("ADD", x(4, 8), known(exact)))
    np.testing.assert_array_equal(found, exact)


def test_integers_stay_but_not_their_scales() -> None:
    weights = known(np.array([[5, -7], [1, 9]], np.int8), Quantization((0.1, 0.5), (0, 0)))
    made = model({"y": call("FULLY_CONNECTED", x(1, 2), weights, None)})
    graph, arrays = copied(made)
    (op,) = graph.ops
    moved = op.operand(1)
    assert moved.data is not None and moved.quantization is not None
    np.testing.assert_array_equal(moved.data, [[5, -7], [1, 9]])
    first, second = moved.quantization.scale
    assert 0 < abs(first - np.float32(0.1)) < 1e-8 and second == 0.5
    for name, array in made.inputs.items():
        assert (arrays[name] != array).all()
        np.testing.assert_allclose(arrays[name], array, rtol=ULP)


def test_what_is_computed_of_integers_stays() -> None:
    """As its results are exact, others are wrong however LiteRT rounds."""
    weights = known(np.array([[5, -7], [1, 9]], np.int8), Quantization((0.1,), (0,)))
    integers = quantized("QUANTIZE", x(1, 2), scale=0.3)
    sums = quantized("FULLY_CONNECTED", integers, weights, None, scale=0.7)
    made = model({"y": call("DEQUANTIZE", sums)})
    graph, arrays = copied(made)
    for name, array in made.inputs.items():
        np.testing.assert_array_equal(arrays[name], array)
    scales = [t.quantization for op in graph.ops for t in (*op.reads, *op.outputs)]
    assert scales == [
        t.quantization for op in read(made.content).ops for t in (*op.reads, *op.outputs)
    ]


def test_copies_differ_from_one_another_and_each_is_the_same_from_run_to_run() -> None:
    made = model({"y": call("ADD", x(4, 3), known(ROUNDED))})
    first, again, other = (write(copied(made, seed)[0]) for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("content", [two_signatures(), cached()], ids=["apart", "cached"])
def test_a_signature_s_copy_has_its_names(content: bytes) -> None:
    """Also those of outputs that are called as inputs are."""
    for signature in read(content).signatures:
        graph = read(content, signature=signature.key)
        given = {
            name: np.full(tensor.shape, 0.1, tensor.dtype)
            for name, tensor in zip(graph.input_names, graph.inputs, strict=True)
        }
        for asked in (litert_outputs, every_tensor):
            theirs = asked(content, signature.key, given)
            moved = asked(content, signature.key, given, seed=7)
            assert moved.keys() == theirs.keys()
            for name, (_, value) in theirs.items():
                np.testing.assert_allclose(moved[name][1], value, atol=1e-6)


def test_what_amplifies_rounding_moves_far() -> None:
    steep = known(np.array([1234567.8], np.float32))
    made = model({"y": typed("int32", "CAST", call("FLOOR", call("MUL", x(1009), steep)))})
    (usual,) = (value for _, value in litert_outputs(made.content, "", made.inputs).values())
    (moved,) = (
        value for _, value in litert_outputs(made.content, "", made.inputs, seed=7).values()
    )
    assert 1 <= np.abs(usual - moved).max() <= 3
