"""Comparison with LiteRT's sets of kernels, which may differ from one another."""

import json
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from commands import invoke
from paths import DIGITS_MODEL

from tflgpu.compiler import ModelError
from tflgpu.compiler.frontend.model_file import Model
from tflgpu.compiler.ir import Array
from tflgpu.compiler.litert.child import Output
from tflgpu.compiler.litert.variations import litert_outputs
from tflgpu.compiler.tools import compare as verification
from tflgpu.compiler.tools.comparison import Comparison
from tflgpu.compiler.tools.nearest import COPIES, Answers, Asked, Result, against_litert
from tflgpu.runtime import TensorInfo
from tflgpu.runtime.litert.module import KernelSet

INFO = TensorInfo("y", (2,), "float32")


def compared(
    ours: float, copies: Sequence[float] = (), **theirs: float | None
) -> tuple[Comparison, list[KernelSet | int]]:
    """A result beside those of the sets of kernels; None for one that cannot run the model.

    `copies` are the results of copies with other last bits, of those that can be made.
    """
    asked: list[KernelSet | int] = []

    def ask(kernels: KernelSet) -> Asked:
        asked.append(kernels)
        value = theirs[kernels.replace("-", "_")]
        if value is None:
            raise ModelError("no such kernel")
        return {"y": (INFO, np.array([0.5, value], np.float32))}

    def ask_copy(number: int) -> Asked:
        asked.append(number)
        if number >= len(copies):
            raise ModelError("no such copy")
        return {"y": (INFO, np.array([0.5, copies[number]], np.float32))}

    results = [Result("y", np.array([0.5, ours], np.float32)), Result("z", np.zeros(1))]
    (found,) = against_litert(results, Answers(ask, ask_copy), "f32")
    return found, asked


def test_only_xnnpack_is_asked_where_it_agrees() -> None:
    found, asked = compared(0.25, XNNPACK=0.25)
    assert found.ok and asked == ["XNNPACK"]
    assert (found.kernels, found.errors, found.verdict) == ("XNNPACK", {}, "ok")


def test_own_kernels_are_asked_where_xnnpack_rejects_the_model() -> None:
    found, asked = compared(0.25, XNNPACK=None, built_in=0.25)
    assert found.ok and asked == ["XNNPACK", "built-in"]
    assert found.kernels == "built-in"
    found, asked = compared(0.75, XNNPACK=None, built_in=0.25, reference=0.25)
    assert not found.ok and found.errors == {"built-in": 0.5, "reference": 0.5}
    with pytest.raises(ModelError, match="no such kernel"):
        compared(0.25, XNNPACK=None, built_in=None)


def test_a_result_of_other_kernels_is_right() -> None:
    found, asked = compared(0.25, XNNPACK=0.75, built_in=None, reference=0.25)
    assert found.ok and asked == ["XNNPACK", "built-in", "reference"]
    assert (found.max_error, found.tolerance) == (0, 1e-4)
    assert found.verdict == (
        "ok: as LiteRT's reference kernels (differences: XNNPACK 0.5, reference 0)"
    )


def test_a_result_among_those_that_differ_more_is_right() -> None:
    found, _ = compared(0.625, XNNPACK=0.75, built_in=0.25, reference=0.25)
    assert found.ok and (found.max_error, found.tolerance) == (0.125, 0.5 + 1e-4)
    assert found.verdict == (
        "ok: LiteRT's own results differ by 0.5 "
        "(differences: XNNPACK 0.125, built-in 0.375, reference 0.375)"
    )


def test_spread_is_that_of_elements_which_are_finite_in_both() -> None:
    theirs = {"XNNPACK": [1.0, 2.0], "built-in": [2.0, np.inf], "reference": [2.0, -np.inf]}
    answers = Answers(
        lambda kernels: {"y": (INFO, np.array(theirs[kernels], np.float32))}, lambda number: {}
    )
    for ours, ok in ((1.5, True), (-0.5, False)):
        result = Result("y", np.array([ours, 2], np.float32))
        (found,) = against_litert([result], answers, "f32")
        assert (found.ok, found.spread) == (ok, 1 if ok else 0)


@pytest.mark.parametrize("ours", [2.0, np.nan])
def test_a_result_beyond_all_of_them_is_wrong(ours: float) -> None:
    found, _ = compared(ours, XNNPACK=0.75, built_in=0.25, reference=np.inf)
    assert not found.ok and found.spread == 0
    assert found.verdict == ("differs" if ours == 2 else found.problem)


def test_a_result_as_far_as_other_last_bits_move_theirs_is_right() -> None:
    alike = {"XNNPACK": 0.75, "built_in": 0.75, "reference": 0.75}
    found, asked = compared(0.5, copies=[0.75, 1.0], **alike)
    assert found.ok and asked == ["XNNPACK", "built-in", "reference", *range(COPIES)]
    assert found.verdict == (
        "ok: LiteRT's own results differ by 0.25 if its numbers' last bits do "
        "(differences: XNNPACK 0.25, built-in 0.25, reference 0.25)"
    )
    beyond, _ = compared(0.5, copies=[0.75, 0.875], **alike)
    assert not beyond.ok and beyond.verdict == "differs" and not beyond.last_bits


def test_verify_says_whose_result_it_is(
    opencl_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def defective(
        model: Model,
        signature: str,
        arrays: Mapping[str, Array],
        kernels: KernelSet = "XNNPACK",
        seed: int | None = None,
    ) -> dict[str, Output]:
        defect = 2 if kernels == "XNNPACK" else 1
        found = litert_outputs(model, signature, arrays, kernels, seed)
        return {name: (info, defect * value) for name, (info, value) in found.items()}

    monkeypatch.setattr(verification, "litert_outputs", defective)
    shown = invoke("verify", DIGITS_MODEL, "--device", opencl_device)
    assert "ok: as LiteRT's" in " ".join(shown.stdout.split())
    value = json.loads(invoke("verify", DIGITS_MODEL, "--device", opencl_device, "--json").stdout)
    (output,) = value["outputs"]
    assert value["ok"] and output["max_error"] <= output["tolerance"] == pytest.approx(1e-4)
    assert output["kernels"] != "XNNPACK" and output["litert"]["XNNPACK"] > 1e-2
