"""`tflgpu edit`, and what the other commands say of an edited variant."""

from pathlib import Path

import pytest
from commands import as_json, invoke
from devices import opencl_devices
from paths import DIGITS_MODEL
from plans import chain

from tflgpu.runtime.cache.variant import read_variant

pytestmark = pytest.mark.parametrize("opencl_device", opencl_devices()[:1] or [""], indirect=True)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opencl_device: str) -> Path:
    """The variant of a chain of three kernels, from another folder than the current one."""
    monkeypatch.chdir(tmp_path)
    return chain().write(tmp_path / "cache")


def test_a_kernel_from_writing_it_out_to_reverting(folder: Path, opencl_device: str) -> None:
    file = Path("scale.cl")
    edit = ("edit", "cache", "scale", "--device", opencl_device)
    told = invoke(*edit).stdout
    assert told == "scale.cl has the text of scale: change it, then run this command again\n"
    original = (folder / "kernels" / "001_scale.cl").read_text()
    assert file.read_text() == original
    assert "has the present text of scale: change it first" in invoke(*edit, code=1).stderr

    file.write_text(original.replace("2.0f", "2.5f"))
    result = invoke(*edit, "--keep", code=1)
    assert "MUL -> scaled" in result.stdout and "the original kernel" in result.stdout
    assert "error: the results of scale differ:\n  scaled differs by " in result.stderr
    assert "  output y differs by " in result.stderr
    assert read_variant(folder).edited == ()

    file.write_text(original.replace("2.0f", "(1.0f + 1.0f)"))
    result = invoke(*edit)
    assert "note: add --keep to store the kernel" in result.stderr
    assert "note: give the model's file with --model" in result.stderr
    value = as_json(*edit, "--keep")
    assert (value["ok"], value["kept"], value["kernel"]) == (True, True, "scale")
    assert value["launches"][0]["outputs"][0]["max_error"] == value["outputs"][0]["max_error"] == 0

    assert "variant is edited: scale" in invoke("cache", "verify", "cache").stderr
    assert as_json("cache", "verify", "cache")["entries"][0]["edited"] == ["scale"]
    assert "variant (edited)" in invoke("cache", "list", "cache").stdout
    assert "edited by hand  scale" in invoke("inspect", "cache").stdout
    kernels = as_json("inspect", "cache")["kernels"]
    assert {item["name"]: item["edited"] for item in kernels} == {
        "add": False,
        "scale": True,
        "subtract": False,
    }
    assert "(1.0f + 1.0f)" in invoke("inspect", "cache", "--source", "scale").stdout
    invoke("inspect", "cache", "--html", "report.html")
    assert '"edited": true' in Path("report.html").read_text().replace('":t', '": t')
    note = invoke("export", "cache", "-o", "exported", "--name", "chain").stderr
    assert f"note: {folder} is edited: scale" in note
    assert "Changed by hand: `scale` of `cpu`." in Path("exported", "README.md").read_text()

    assert invoke("edit", "cache", "scale", "--revert").stdout == "scale is as compiled\n"
    assert as_json("cache", "verify", "cache")["entries"][0]["edited"] == []
    assert "Changed by hand" not in exported_again(folder)


def exported_again(folder: Path) -> str:
    invoke("export", folder, "-o", "again", "--name", "chain")
    return Path("again", "README.md").read_text()


def test_errors_show_the_line(folder: Path, opencl_device: str) -> None:
    Path("mine.cl").write_text(
        chain().sources["kernels/001_scale.cl"].replace("FACTOR *", "OOPS *")
    )
    result = invoke("edit", "cache", "scale", "mine.cl", "--device", opencl_device, code=1)
    assert "error: the driver's compiler rejected mine.cl:" in result.stderr
    assert "mine.cl:7:" in result.stderr
    assert "\n  7 | y[i] = OOPS * x[i] * weights[i];\n" in result.stderr


def test_options_that_exclude_one_another_are_refused(folder: Path) -> None:
    both = invoke("edit", "cache", "scale", "--revert", "--keep", code=2).stderr
    assert "--revert takes neither --keep nor a FILE" in both
    assert (
        "kernel scale is not edited" in invoke("edit", "cache", "scale", "--revert", code=1).stderr
    )
    assert "'x' matches no kernel" in invoke("edit", "cache", "x", code=1).stderr


def test_compiling_an_edited_variant_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opencl_device: str
) -> None:
    monkeypatch.chdir(tmp_path)
    compile = ("compile", DIGITS_MODEL, "-o", "cache", "--device", opencl_device)
    invoke(*compile)
    edit = ("edit", "cache", "softmax", "--device", opencl_device, "--model", DIGITS_MODEL)
    invoke(*edit)
    (file,) = tmp_path.glob("softmax*.cl")
    file.write_text(f"// mine\n{file.read_text()}")
    assert as_json(*edit, "--keep")["litert"][0]["ok"]
    assert f"it keeps {file.stem} as edited, until: tflgpu edit" in invoke(*compile).stderr
