"""Tuning tables: files that are not one are rejected with the reason."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from graphs import call, model, x

from tflgpu.compiler import OptionError, Options, pipeline

MODEL = model({"y": call("RELU", x(3, 5))}).content


def with_kernel(**changes: Any) -> str:
    """A table with one kernel, whose fields are valid except for the changed ones."""
    valid = {"tile": [3, 2], "groups": [[1, 1, 1]], "microseconds": 1.0, "before": 2.0}
    return json.dumps({"device": "x", "kernels": {"k": {**valid, **changes}}})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("no JSON", "Expecting value: line 1 column 1"),
        ("[]", "wrong type of it"),
        ('{"device": "x"}', "without kernels"),
        (
            json.dumps({"device": "x", "kernels": {"k": {}}}),
            "kernel 'k': without tile, groups, microseconds, before",
        ),
        (with_kernel(tile=[3]), "kernel 'k': wrong type of tile"),
        (with_kernel(tile="3x2"), "kernel 'k': wrong type of tile"),
        (with_kernel(groups=[[0, 1, 1]]), "kernel 'k': 0 is not a size from 1 to 65536"),
        (with_kernel(groups=[[1.5, 1, 1]]), "kernel 'k': wrong type of groups"),
        (with_kernel(groups=None), "kernel 'k': wrong type of groups"),
        (with_kernel(before="soon"), "kernel 'k': wrong type of before"),
        (with_kernel(before=1e12), "kernel 'k': 1000000000000.0 is not a time in microseconds"),
        (with_kernel(before=float("nan")), "kernel 'k': nan is not a time in microseconds"),
        (json.dumps({"device": None, "kernels": {}}), "wrong type of device"),
        (json.dumps({"device": "x", "kernels": []}), "wrong type of kernels"),
        # Python limits how deep lists are and how long integers, with messages of its own.
        ("[" * 100_000, ""),
        ("9" * 10_000, ""),
    ],
    ids=lambda text: text[:70],
)
def test_a_file_that_is_not_a_table_is_rejected(content: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    path.write_text(content)
    with pytest.raises(OptionError) as caught:
        pipeline.build(MODEL, Options(device="cpu", tuning=str(path)))
    message = str(caught.value)
    assert message.startswith(f"{path} is not a tuning table: ")
    assert reason in message and message.endswith("; tune again into a new file")


def test_a_missing_table_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "none"
    message = re.escape(f"cannot read the tuning table {path}: No such file or directory")
    with pytest.raises(OptionError, match=message):
        pipeline.build(MODEL, Options(device="cpu", tuning=str(path)))
