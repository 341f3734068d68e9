"""`tflgpu verify`: agreement, and what departs first."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import as_json, invoke
from graphs import parsed
from graphs.build import model
from graphs.signatures import Entry, signed
from graphs.values import call, ints, known, typed, w, x, xi
from paths import DIGITS_MODEL, SEVEN

from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.ir import Array
from tflgpu.compiler.litert.child import Output
from tflgpu.compiler.litert.variations import every_tensor, litert_outputs
from tflgpu.compiler.tools import compare
from tflgpu.runtime import TensorInfo


@pytest.mark.parametrize("command", ["verify", "benchmark"])
def test_no_operators_of_an_application(command: str) -> None:
    """They need a function, which a command cannot be given."""
    result = invoke(command, DIGITS_MODEL, "--custom-op", "Mine", code=2)
    assert "No such option" in result.stderr and "--custom-op" in result.stderr


def test_verify_prints_the_largest_error(opencl_device: str) -> None:
    value = as_json("verify", DIGITS_MODEL, "--device", opencl_device, "--seed", 7)
    (output,) = value["outputs"]
    assert value["ok"] is True and output["name"] == "probabilities"
    assert output["max_error"] <= output["tolerance"] == pytest.approx(1e-4)
    image = as_json("verify", DIGITS_MODEL, "--device", opencl_device, "--input", SEVEN, "--layers")
    assert image["ok"] is True
    names = [item["name"] for item in image["layers"]]
    assert names.index("first") < names.index("residual") < names.index("scores")


def test_inputs_and_outputs_without_a_name(opencl_device: str, tmp_path: Path) -> None:
    """A signature may name them ""; they are then called as the tensors are."""
    graph = read(parsed("input x float32[3]\ny = ABS(x)\noutput y").content)
    path = tmp_path / "nameless.tflite"
    path.write_bytes(signed({"serving": Entry(graph, {"": 0}, {"": 0})}))
    found = as_json("verify", path, "--signature", "serving", "--device", opencl_device)
    assert [output["name"] for output in found["outputs"]] == ["y"]


def test_random_indices_are_rows_of_the_tables(opencl_device: str, tmp_path: Path) -> None:
    """Such as token types, of which there are two."""
    types = xi(1, 7, draw="counts")
    below, above = typed("bool", "LESS", types, ints(0)), typed("int32", "ADD", types, ints(2))
    wrapped = typed("int32", "SELECT_V2", below, above, types)
    rows = call("GATHER", w(2, 5), wrapped, axis=0)
    places = call("GATHER_ND", w(3, 2), typed("int32", "ADD", xi(5, 2, draw="counts"), ints(0)))
    updated = call("SCATTER_ND", xi(5, 1, draw="counts"), x(5, 3), ints(2, 3))
    number = known(np.array(2, np.int32))
    summed = call("UNSORTED_SEGMENT_SUM", x(5, 3), xi(5, draw="counts"), number)
    turned = call("REVERSE_SEQUENCE", x(2, 3), xi(2, draw="counts"), seq_dim=1, batch_dim=0)
    values = {"rows": rows, "places": places, "updated": updated, "sums": summed, "turned": turned}
    path = tmp_path / "types.tflite"
    path.write_bytes(model(values).content)
    assert as_json("verify", path, "--device", opencl_device)["ok"] is True


def test_verify_knows_what_half_precision_may_cost(opencl_device: str) -> None:
    value = as_json("verify", DIGITS_MODEL, "--device", opencl_device, "--precision", "f16")
    (output,) = value["outputs"]
    assert value["ok"] is True and output["tolerance"] == pytest.approx(1e-2)
    assert 1e-6 < output["max_error"] < output["tolerance"]


def test_verify_names_what_departs(opencl_device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def bent(*args: Any) -> Mapping[str, tuple[TensorInfo, Array]]:
        exact = ("first", "depthwise_1")
        return {
            name: (info, value if name in exact else value * np.nan)
            for name, (info, value) in every_tensor(*args).items()
        }

    def doubled(*args: Any) -> dict[str, Output]:
        found = litert_outputs(*args)
        return {name: (info, 2 * value) for name, (info, value) in found.items()}

    monkeypatch.setattr(compare, "every_tensor", bent)
    monkeypatch.setattr(compare, "litert_outputs", doubled)
    command = ("verify", DIGITS_MODEL, "--device", opencl_device)
    result = invoke(*command, "--json", code=1)
    value = json.loads(result.stdout)
    assert value["ok"] is False and value["outputs"][0]["max_error"] > 0.01
    assert result.stderr.startswith(
        "error: outputs differ from LiteRT's:\n  probabilities differs by"
    )
    assert "65504" not in result.stderr
    half = invoke(*command, "--precision", "f16", code=1)
    assert "--keep-f32 auto finds which" in half.stderr
    layers = invoke(*command, "--layers", "--disable-pass", "fuse_depthwise", "--json", code=1)
    message = (
        "error: the first tensor that differs from LiteRT's: residual is not NaN at [0, 0, 0, 0]"
    )
    assert layers.stderr.startswith(message)
    assert layers.stderr.endswith("(CONV_2D + RELU + ADD -> residual)\n")
    entries = {item["name"]: item for item in json.loads(layers.stdout)["layers"]}
    assert entries["first"]["ok"] is True
    assert entries["residual"]["ok"] is False and entries["residual"]["max_error"] is None
