"""Dispatches that repeat are written once in a persistent kernel, and compute the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from devices import own_profile
from graphs import State, Value, call, known, model, w, x

import tflgpu
from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.codegen.rounds import Rounds, packed, rounds
from tflgpu.compiler.litert.reference import Reference
from tflgpu.runtime.plan.records import Dispatch


def dispatches(kernels: str) -> list[Dispatch]:
    """A dispatch for each letter, which names its kernel."""
    return [Dispatch(ord(kernel), (1, 1, 1), (), "", (), 0) for kernel in kernels]


@pytest.mark.parametrize(
    ("kernels", "expected"),
    [
        ("", []),
        ("abc", [Rounds(5, 3)]),
        ("ab" * 7, [Rounds(5, 14)]),
        ("ab" * 8, [Rounds(5, 2, 8)]),
        ("a" * 9, [Rounds(5, 1, 9)]),
        ("aab" * 10, [Rounds(5, 3, 10)]),
        ("x" + "ab" * 9 + "ay", [Rounds(5, 1), Rounds(6, 2, 9), Rounds(24, 2)]),
        ("ab" * 8 + "cd" * 9, [Rounds(5, 2, 8), Rounds(21, 2, 9)]),
        ("abcde" * 8, [Rounds(5, 40)]),
    ],
)
def test_the_longest_rounds(kernels: str, expected: list[Rounds]) -> None:
    assert list(rounds(dispatches(kernels), 5, longest=4)) == expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([Rounds(0, 9)], [[Rounds(0, 4)], [Rounds(4, 4)], [Rounds(8, 1)]]),
        (
            [Rounds(0, 3), Rounds(3, 2, 8), Rounds(19, 2)],
            [[Rounds(0, 3)], [Rounds(3, 2, 8), Rounds(19, 2)]],
        ),
    ],
)
def test_only_what_is_written_counts(found: list[Rounds], expected: list[list[Rounds]]) -> None:
    assert list(packed(found, 4)) == expected


def test_a_loop_computes_what_single_launches_do(tmp_path: Path, opencl_device: str) -> None:
    """Arguments that alternate are in a table."""
    value: Value = x(1, 5, 7, 11)
    for _ in range(30):
        value = call("SOFTMAX", value, beta=9.0)
    made = model({"y": value})
    options = Options(device=own_profile(tmp_path, "cpu", persistent_dispatches=4))
    compiled = pipeline.build(made.content, options)
    (record,) = compiled.plan.persistent
    text = compiled.sources[compiled.plan.kernels[record.kernel].file]
    assert record.count == 30 and text.count("run_step(") == 4
    assert "for (int round = 0; round < 28; round++)" in text and "_offsets_1[28][2]" in text
    array = np.random.default_rng(5).standard_normal((1, 5, 7, 11), np.float32)
    with tflgpu.load(pipeline.store(compiled, tmp_path), device=opencl_device) as session:
        first, second = (session.run(array)["y"] for _ in range(2))
    (expected,) = Reference(made.content).run([array])
    np.testing.assert_allclose(first, expected, rtol=2e-6, atol=1e-7)
    np.testing.assert_array_equal(second, first)


def test_the_steps_of_a_recurrent_layer_are_a_loop(tmp_path: Path, opencl_device: str) -> None:
    steps, inputs, units = 97, 5, 8
    # Weights that let differences die away.
    recurrent = known(np.eye(units, dtype=np.float32)[::-1] * 0.5)
    weights = w(units, inputs), recurrent, w(units)
    attrs = {"time_major": True, "fused_activation_function": "TANH"}
    state = State((1, units))
    layer = call("UNIDIRECTIONAL_SEQUENCE_RNN", x(steps, 1, inputs), *weights, state, **attrs)
    made = model({"y": call("FULLY_CONNECTED", layer, w(3, units), None, keep_num_dims=True)})
    compiled = pipeline.build(made.content, Options(device="cpu_avx2", fallback="none"))
    (record,) = compiled.plan.persistent
    text = compiled.sources[compiled.plan.kernels[record.kernel].file]
    assert record.count > steps > text.count("run_step(") and "for (int round" in text
    array = np.random.default_rng(7).standard_normal((steps, 1, inputs), np.float32)
    with tflgpu.load(pipeline.store(compiled, tmp_path), device=opencl_device) as session:
        results = [session.run(array)["y"] for _ in range(2)]
    reference = Reference(made.content)
    for result in results:
        (expected,) = reference.run([array])
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
