"""`tflgpu run`: inputs, outputs and the names of classes."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest
from commands import as_json, invoke, program
from graphs import call, model, x, xi
from graphs.steps import elementwise
from paths import DIGITS, DIGITS_MODEL, SEVEN

import tflgpu
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor
from tflgpu.compiler.litert.reference import Reference


@pytest.fixture
def cache(opencl_device: str, tmp_path: Path) -> Path:
    """A cache that holds the digits network for a device."""
    invoke("compile", DIGITS_MODEL, "-o", tmp_path / "cache", "--device", opencl_device)
    return tmp_path / "cache"


def test_run_names_the_classes_of_an_image(cache: Path, opencl_device: str) -> None:
    command = ("run", cache, "--device", opencl_device, "--input", SEVEN)
    value = as_json(*command, "--labels", DIGITS / "labels.txt")
    best = value["classes"]
    assert best[0]["label"] == "7" and len(best) == 5
    scores = [item["score"] for item in best]
    assert scores == sorted(scores, reverse=True) and 0.5 < scores[0] <= 1
    (output,) = value["outputs"]
    assert output["name"] == "probabilities" and output["shape"] == [1, 10]
    assert output["max"] == pytest.approx(scores[0])
    assert output["mean"] == pytest.approx(0.1, abs=1e-5)
    shown = invoke(*command, "--labels", DIGITS / "labels.txt")
    assert "warning: image: pixels 0..255 become 0..1, which is assumed" in shown.stderr
    assert shown.stdout.split("score", 1)[1].split()[0] == "7"


def test_run_takes_the_url_of_a_store(opencl_device: str, tmp_path: Path) -> None:
    url = (tmp_path / "store").as_uri()
    invoke("compile", DIGITS_MODEL, "-o", url, "--device", opencl_device)
    command = ("run", url, "random", "--device", opencl_device)
    assert "is not signed; a plan is a program" in invoke(*command, code=1).stderr
    (output,) = as_json(*command, "--trust", "anyone")["outputs"]
    assert output["mean"] == pytest.approx(0.1, abs=1e-5)


def test_run_writes_what_litert_computes(cache: Path, opencl_device: str, tmp_path: Path) -> None:
    image = np.random.default_rng(7).random((1, 8, 8, 1), np.float32)
    np.save(tmp_path / "image.npy", image)
    output = tmp_path / "out.npz"
    source = f"image={tmp_path / 'image.npy'}"
    common = ("run", cache, "--model", DIGITS_MODEL, "--device", opencl_device)
    result = invoke(*common, "--input", source, "--output", output)
    assert result.stdout.splitlines()[-1] == str(output) and result.stderr == ""
    (expected,) = Reference(DIGITS_MODEL).run([image])
    with np.load(output) as arrays:
        assert list(arrays) == ["probabilities"]
        np.testing.assert_allclose(arrays["probabilities"], expected, atol=1e-4)


def test_run_scales_pixels_as_asked(cache: Path, opencl_device: str, tmp_path: Path) -> None:
    common = ("run", cache, "--device", opencl_device, "--input", SEVEN)
    result = invoke(*common, "--mean", 10, "--std", 51, "--output", tmp_path / "out.npz")
    assert "pixels 0..255 become -0.196078..4.80392" in result.stderr
    fault = invoke(*common, "--std", 0, code=1)
    assert fault.stderr == "error: std is 0, but pixels are divided by it; give another value\n"
    assert "both must be finite" in invoke(*common, "--mean", "nan", code=1).stderr


def test_run_repeats_with_a_seed(cache: Path, opencl_device: str) -> None:
    command = ("run", cache, "--device", opencl_device, "--input", "random", "--seed")
    assert as_json(*command, 7) == as_json(*command, 7)
    assert as_json(*command, 7)["outputs"] != as_json(*command, 11)["outputs"]


def test_run_with_several_inputs(opencl_device: str, tmp_path: Path) -> None:
    model = elementwise(tmp_path / "m.tflite", "ADD", inputs=2)
    path = tflgpu.compile(model, tmp_path / "cache", device=opencl_device)
    random = np.random.default_rng(7)
    arrays = [random.standard_normal((1, 3, 5, 7)).astype(np.float32) for _ in range(2)]
    for number, array in enumerate(arrays):
        np.save(tmp_path / f"{number}.npy", array)
    common = ("run", path, "--device", opencl_device)
    both = [option for n in (1, 0) for option in ("--input", f"x{n}={tmp_path / f'{n}.npy'}")]
    invoke(*common, *both, "--output", tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as results:
        np.testing.assert_allclose(results["y0"], arrays[0] + arrays[1], rtol=1e-6)
    fault = invoke(*common, "--input", f"x0={tmp_path / '0.npy'}", code=1)
    assert fault.stderr.startswith("error: input x1 has no value; pass --input x1=FILE")


def test_options_without_effect_are_reported(cache: Path, opencl_device: str) -> None:
    common = ("run", cache, "--device", opencl_device)
    ignored = "warning: --mean and --std are ignored: no picture is scaled here\n"
    assert invoke(*common, "random", "--mean", 10).stderr == ignored
    assert invoke(*common, "random", "--std", 10).stderr == ignored
    assert "warning" not in invoke(*common, SEVEN, "--mean", 10).stderr
    assert "--threshold is ignored" in invoke(*common, SEVEN, "--threshold", 0.1).stderr


def test_labels_that_do_not_fit(cache: Path, opencl_device: str, tmp_path: Path) -> None:
    few, many, none = (tmp_path / f"{name}.txt" for name in ("few", "many", "none"))
    few.write_text("a\nb\nc\n")
    many.write_text("\n".join("abcdefghijk"))
    none.touch()
    common = ("run", cache, "--device", opencl_device, "--input", SEVEN, "--labels")
    assert "has 10 classes, but the file has 3 labels" in invoke(*common, few, code=1).stderr
    assert "warning: 11 labels for 10 classes" in invoke(*common, many).stderr
    assert "contains no labels" in invoke(*common, none, code=1).stderr
    assert "cannot read the labels" in invoke(*common, tmp_path / "gone.txt", code=1).stderr


@pytest.mark.usefixtures("free_exchange")
def test_run_reads_and_writes_strings(opencl_device: str, tmp_path: Path) -> None:
    graph = Graph("words")
    words, column = Tensor("words", (3,), "string"), Tensor("column", (3, 1), "string")
    graph.add(
        Op(
            "EXPAND_DIMS",
            (words, Tensor("axis", (), "int32", np.array(1, np.int32))),
            (column,),
            {},
        )
    )
    graph.inputs, graph.input_names = [words], ["words"]
    graph.outputs, graph.output_names = [column], ["column"]
    path, out = tmp_path / "m.tflite", tmp_path / "out.npz"
    path.write_bytes(write(graph))
    np.save(tmp_path / "words.npy", np.array(["one", "", "three"]))
    cache = tmp_path / "cache"
    invoke("compile", path, "-o", cache, "--device", opencl_device)
    common = ("run", cache, "--device", opencl_device)
    value = as_json(*common, tmp_path / "words.npy", "--output", out)
    assert value["outputs"][0]["dtype"] == "string" and value["outputs"][0]["mean"] is None
    with np.load(out) as arrays:
        assert arrays["column"].tolist() == [[b"one"], [b""], [b"three"]]
    np.save(tmp_path / "words.npy", np.ones(3, np.float32))
    fault = invoke(*common, tmp_path / "words.npy", code=1)
    assert "contains float32[3], but the model takes string[3]" in fault.stderr


@pytest.mark.usefixtures("free_exchange")
def test_run_says_what_litert_computes(opencl_device: str, tmp_path: Path) -> None:
    model, cache = elementwise(tmp_path / "m.tflite", "ABS", "EXP"), tmp_path / "cache"
    common = ("--device", opencl_device, "--input", "random")
    invoke("compile", model, "-o", cache, "--device", opencl_device, "--fallback-op", "ABS")
    shown = program("run", cache, *common)
    assert shown.returncode == 0 and shown.stderr == ""
    assert f"computed on {opencl_device.partition('): ')[2]} and LiteRT\n" in shown.stdout
    assert "\nfallback/0.tflite  ABS" in shown.stdout
    compile_all = ("--fallback-op", "ABS", "--fallback-op", "EXP")
    path = as_json("compile", model, "-o", cache, "--device", opencl_device, *compile_all)["path"]
    value = as_json("run", path, *common)
    assert value["device"] == "LiteRT"
    assert [part["operators"] for part in value["fallback"]] == ["ABS + EXP"]


def test_a_disk_that_is_full_leaves_no_file(
    cache: Path, opencl_device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    invoke("run", cache, "--device", opencl_device, "--input", "random")
    monkeypatch.setattr(os, "fsync", full)
    npz, html = tmp_path / "out" / "out.npz", tmp_path / "out" / "report.html"
    npz.parent.mkdir()
    html.write_text("an earlier report")
    run = ("run", cache, "--device", opencl_device, "--input", "random", "--output", npz)
    for path, command in ((npz, run), (html, ("inspect", cache, "--html", html))):
        result = invoke(*command, code=1)
        assert result.stderr == f"error: cannot write {path}: No space left on device\n"
    assert list(npz.parent.iterdir()) == [html]
    assert html.read_text() == "an earlier report"


def test_run_reports_an_index_out_of_bounds(opencl_device: str, tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(model({"y": call("GATHER", x(4, 3), xi(2))}).content)
    common = ("run", tmp_path / "cache", "--device", opencl_device, "--input", "random")
    invoke("compile", tmp_path / "m.tflite", "-o", tmp_path / "cache", "--device", opencl_device)
    np.save(tmp_path / "ids.npy", np.array([2, 8], np.int32))
    inputs = ("--input", f"y/in1={tmp_path / 'ids.npy'}")
    invoke(*common, *inputs)
    fault = invoke(*common, *inputs, "--check", code=1)
    assert fault.stderr == (
        "error: operator 0 GATHER: the index 8 at [1] of y/in1 is out of bounds; it must be at "
        "least 0 and less than 4\n"
    )
