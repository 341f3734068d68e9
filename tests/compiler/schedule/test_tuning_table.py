"""Tuning tables: what is none, and what it says of which kernels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cases.convolutions import conv, window
from graphs import Model, call, model, x

from tflgpu.compiler import OptionError, Options, pipeline

PROFILE = "cpu_avx512"


def network() -> Model:
    """A convolution that can have many tiles, and one behind it with a large window."""
    first = call("RELU", conv(x(1, 13, 11, 7), (37, 7), (1, 1)))
    return model({"y": conv(first, (5, 37), **window("SAME", (2, 2)))})


ENTRY = {"tile": [3, 2], "groups": [[1, 1, 1]], "microseconds": 1.0, "before": 2.0}


@pytest.mark.parametrize(
    "content",
    [
        "no JSON",
        "[]",
        '{"device": "x"}',
        json.dumps({"device": "x", "kernels": {"k": {}}}),
        json.dumps({"device": "x", "kernels": {"k": {**ENTRY, "tile": [3]}}}),
        json.dumps({"device": "x", "kernels": {"k": {**ENTRY, "tile": "3x2"}}}),
        json.dumps({"device": "x", "kernels": {"k": {**ENTRY, "groups": [[0, 1, 1]]}}}),
        json.dumps({"device": "x", "kernels": {"k": {**ENTRY, "groups": [[1.5, 1, 1]]}}}),
        json.dumps({"device": "x", "kernels": {"k": {**ENTRY, "groups": None}}}),
        json.dumps({"device": "x", "kernels": {"k": {**ENTRY, "before": "soon"}}}),
        json.dumps({"device": "x", "kernels": {"k": {**ENTRY, "before": 10**400}}}),
        json.dumps({"device": "x", "kernels": {"k": {**ENTRY, "before": float("nan")}}}),
        json.dumps({"device": None, "kernels": {}}),
        json.dumps({"device": "x", "kernels": []}),
        "[" * 100_000,
        "9" * 10_000,
    ],
    ids=lambda content: content[:70],
)
def test_what_is_no_table_is_said(content: str, tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    path.write_text(content)
    with pytest.raises(OptionError, match=r"table\.json is no tuning table"):
        pipeline.build(network().content, Options(device=PROFILE, tuning=str(path)))


def test_a_table_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="cannot read the tuning table"):
        pipeline.build(network().content, Options(device=PROFILE, tuning=str(tmp_path / "none")))
