"""Bisection names the rewrite that changes results; `explain --dump` writes every graph."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from commands import as_json, invoke
from graphs import call, model, w, x

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.ir import Array, Graph, constant
from tflgpu.compiler.litert.child import Output
from tflgpu.compiler.litert.variations import litert_outputs
from tflgpu.compiler.ops.base import definition
from tflgpu.compiler.rewrites import LOWER, PIPELINE, pass_manager
from tflgpu.compiler.rewrites.rewrite import Attempt, Attempts, graph_rewrite
from tflgpu.compiler.target import Target
from tflgpu.compiler.tools import bisect as bisection
from tflgpu.compiler.tools import compare
from tflgpu.compiler.tools.bisect import bisect
from tflgpu.compiler.tools.nearest import COPIES
from tflgpu.runtime.litert.module import KernelSet
from tflgpu.runtime.plan.records import TensorInfo

WINDOW = {"padding": "SAME", "stride_h": 1, "stride_w": 1}

CONV = call("CONV_2D", x(1, 5, 7, 3), w(11, 3, 3, 3), w(11), **WINDOW)

MODEL = model({"y": call("RELU", call("ADD", CONV, w(11)))})

OPTIONS = Options(device="cpu_avx512", fallback="none")


def feed(inputs: Sequence[TensorInfo]) -> Mapping[str, Array]:
    return {info.name: MODEL.inputs["y/in0"] for info in inputs}


@graph_rewrite()
def worsen(graph: Graph, target: Target) -> Attempts:
    """A wrong rewrite, which adds to the bias."""
    for op in graph.ops:
        if op.name == "CONV_2D":
            yield Attempt((op,))
            bias = constant("wrong", op.constant(2) + np.float32(0.5))
            graph.set_inputs(op, (*op.inputs[:2], bias))


def add_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the wrong rewrite to the pipeline, before its last four."""
    broken = (*PIPELINE[:-4], worsen, *PIPELINE[-4:])
    monkeypatch.setattr(pipeline, "LOWER", (*LOWER[:-4], worsen, *LOWER[-4:]))
    monkeypatch.setattr(pass_manager, "PIPELINE", broken)
    monkeypatch.setattr(bisection, "PIPELINE", broken)


def test_the_rewrite_at_fault_is_found(
    driver: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert bisect(MODEL.content, OPTIONS, feed) is None
    add_fault(monkeypatch)
    asked: list[object] = []

    def noted(*question: Any) -> Mapping[str, Output]:
        asked.append(question)
        return litert_outputs(*question)

    monkeypatch.setattr(compare, "litert_outputs", noted)
    culprit = bisect(MODEL.content, OPTIONS, feed)
    assert culprit is not None
    assert culprit.rewrite == "worsen"
    assert 3 < culprit.runs < 9
    # LiteRT runs each set of kernels and each copy once, however many results differ.
    assert len(asked) == len(get_args(KernelSet)) + COPIES
    path = tmp_path / "model.tflite"
    path.write_bytes(MODEL.content)
    shown = invoke("verify", path, "--bisect", code=1)
    assert "the rewrite worsen changes the results" in shown.output


def test_folding_at_fault_is_found(
    driver: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Here it forgets activations."""
    folded = call("ADD", w(5, 7), w(5, 7), fused_activation_function="RELU")
    path = tmp_path / "model.tflite"
    path.write_bytes(model({"y": call("MUL", x(5, 7), folded)}).content)
    assert as_json("verify", path, "--bisect")["ok"]
    monkeypatch.setattr(definition, "activation_of", lambda op: None)
    shown = " ".join(invoke("verify", path, "--bisect", code=1).output.split())
    assert "also differ without optional rewrites; the first tensor: y/ADD0.0 differs by" in shown
    assert shown.endswith(" (folded: 0 ADD)")


def test_the_graph_after_each_pass_is_written(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(MODEL.content)
    folder = tmp_path / "graphs"
    assert as_json("explain", path, "--device", "cpu", "--dump", folder)["passes"]
    files = sorted(file.name for file in folder.iterdir())
    assert files[0] == "00_read.txt"
    assert files[-1] == f"{len(PIPELINE):02}_{PIPELINE[-1].name}.txt"
    assert len(files) == len(PIPELINE) + 1
    first, last = ((folder / files[i]).read_text() for i in (0, -1))
    assert " = ADD(" in first
    assert "CONV_2D" in last and " | y: float32[1,5,7,11] = RELU(" in last
    assert "= ADD(" not in last
