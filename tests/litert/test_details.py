"""LiteRT's dictionaries about tensors, over a sample of real models that are not compiled."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert import interpreter as litert

from tflgpu.litert import Interpreter

STRIDE = 12  # One of so many models is opened.


def listed(models: Path, kind: str) -> Iterator[Path]:
    with (models / f"{kind}.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    run = [row["path"] for row in rows if row["runs in LiteRT"] == "yes"]
    yield from (models / kind / path for path in run[::STRIDE])


def differences(ours: Any, theirs: Any) -> list[str]:
    """What differs, leaving out LiteRT's own temporary tensors, which follow the model's."""
    found = []
    for method in ("get_input_details", "get_output_details", "get_tensor_details"):
        for left, right in zip(getattr(ours, method)(), getattr(theirs, method)(), strict=False):
            found += [
                f"{method} {left['index']} {key}: {left[key]} instead of {right[key]}"
                for key in right
                if not same(left[key], right[key])
            ]
    return found


def same(left: Any, right: Any) -> bool:
    try:
        np.testing.assert_equal(left, right)
    except AssertionError:
        return False
    return getattr(left, "dtype", None) == getattr(right, "dtype", None)


def test_details_of_real_models_are_those_of_litert(models: Path) -> None:
    opened = 0
    for path in (*listed(models, "ops"), *listed(models, "networks")):
        ours, theirs = Interpreter(str(path)), litert.Interpreter(str(path))
        assert differences(ours, theirs) == [], path
        opened += 1
    assert opened > 25
