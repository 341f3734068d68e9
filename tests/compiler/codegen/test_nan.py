"""nan="keep" hands NaN on through limits; nan="any" leaves it to the functions of the language."""

from pathlib import Path

import numpy as np
import pytest
from agreement import assert_agrees
from cases.special_values import ONE, computed
from devices import Attached
from graphs import Model, call, model

from tflgpu.compiler.options import Nan

# By operator, the function of both languages that limits numbers.
FUNCTIONS = {"RELU": "max", "RELU6": "clamp", "MAXIMUM": "max", "MINIMUM": "min"}
NUMBERS = (-1e30, -3.5, -0.5, 0.25, 1.0, 7.0, 1e30)


def limits(*values: float) -> Model:
    """Each operator of those values."""
    first = {"MAXIMUM": (ONE,), "MINIMUM": (ONE,)}
    return model({name: call(name, *first.get(name, ()), computed(*values)) for name in FUNCTIONS})


@pytest.mark.parametrize(
    "nan, values", [("keep", NUMBERS), ("any", NUMBERS), ("keep", (*NUMBERS, np.nan))]
)
def test_limits_agree_with_litert(
    attached: Attached, tmp_path: Path, nan: Nan, values: tuple[float, ...]
) -> None:
    device = attached.device or "auto"
    compiled = assert_agrees(
        limits(*values), device, tmp_path, 0.0, target=attached.target, nan=nan
    )
    text = "".join(compiled.sources.values())
    for name, function in FUNCTIONS.items():
        assert (f"v = {function}(" in text) == (nan == "any"), name
    assert ("at_least" in text) == (nan == "keep")
