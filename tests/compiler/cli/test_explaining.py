"""`tflgpu explain`: the summary, reasons and implementations."""

from pathlib import Path

from commands import as_json, invoke
from graphs.operators import file_of
from graphs.steps import elementwise
from paths import DIGITS_MODEL

from tflgpu.compiler.ir import Op, Quantization, Tensor
from tflgpu.compiler.rewrites import PIPELINE

PROFILE = "cpu_avx2"  # For compilations whose result is not run.


def test_explain_gives_reasons() -> None:
    value = as_json("explain", DIGITS_MODEL, "--device", PROFILE)
    assert value["findings"] == [] and value["profile"] == PROFILE
    declined = [event for event in value["passes"] if not event["applied"]]
    assert declined and all(event["reason"] and event["operators"] for event in declined)
    assert {event["pass"] for event in value["passes"]} <= {step.name for step in PIPELINE}
    fused = [event for event in value["passes"] if event["pass"] == "fuse_elementwise"]
    assert ["2 CONV_2D", "3 ADD"] in [event["operators"] for event in fused]
    choices = {item["operators"]: item for item in value["choices"]}
    fused_pair = choices["1 DEPTHWISE_CONV_2D + 2 CONV_2D + 3 ADD"]
    assert fused_pair["implementation"] == "depthwise_pointwise_rows"
    assert "conv_1x1: the window is not 1x1" in choices["0 CONV_2D"]["unsupported"]
    text = invoke("explain", DIGITS_MODEL, "--device", PROFILE).stdout
    words = " ".join(text.split())
    assert text.startswith(f"10 of 10 operators run on the device (profile {PROFILE}).\n")
    assert all(event["reason"].partition(" ")[0] in words for event in declined)
    assert "depthwise_pointwise_rows" in text and "the window is not 1x1" not in text
    everything = invoke("explain", DIGITS_MODEL, "--device", PROFILE, "--all").stdout
    assert "conv_1x1: the window is not 1x1" in everything
    lines = (text + everything).splitlines()
    assert max(map(len, lines)) <= 80 and not any(line.endswith(" ") for line in lines)


def test_explain_lists_every_refusal(tmp_path: Path) -> None:
    model = elementwise(tmp_path / "m.tflite", "Mystery", "ABS", "Riddle")
    value = as_json("explain", model, "--device", PROFILE)
    found = [(item["index"], item["operator"]) for item in value["findings"]]
    assert found == [(0, "Mystery"), (2, "Riddle")]
    text = invoke("explain", model, "--device", PROFILE).stdout
    first, _, title, _, reason, *_ = text.splitlines()
    assert first == f"1 of 3 operators run on the device, 2 cannot run (profile {PROFILE})."
    assert title == "Reasons"
    assert reason.split() == [
        "2",
        "tflgpu",
        "does",
        "not",
        "know",
        "this",
        "operator",
        "0",
        "Mystery,",
        "2",
        "Riddle",
    ]
    assert "0 Mystery" in text.partition("Operators that cannot run")[2]


def test_explain_counts_what_runs_on_litert(tmp_path: Path) -> None:
    model = elementwise(tmp_path / "m.tflite", "ABS", "EXP")
    options = ("--device", PROFILE, "--fallback", "litert", "--fallback-op", "EXP")
    text = invoke("explain", model, *options).stdout
    assert text.startswith("0 of 2 operators run on the device, 2 on LiteRT (profile")


def test_explain_of_a_model_whose_conversion_is_absorbed(tmp_path: Path) -> None:
    """The kernel of ADD stores the model's integers itself."""
    scale = Quantization((0.05,), (3,))
    a, b, y = (Tensor(name, (1, 4, 4, 8), "int8", None, scale) for name in "aby")
    path = tmp_path / "m.tflite"
    path.write_bytes(file_of(Op("ADD", (a, b), (y,), {"fused_activation_function": "NONE"})))
    value = as_json("explain", path, "--device", "gpu")
    assert any(item["implementation"].endswith("_to_integers") for item in value["choices"])
