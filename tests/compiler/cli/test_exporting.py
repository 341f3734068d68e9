"""`tflgpu export`, and compiling for several devices at once."""

from pathlib import Path

import pytest
from commands import as_json, invoke
from graphs.signatures import cached
from paths import DIGITS_MODEL

import tflgpu

PROFILES = ("adreno", "mali", "cpu_avx2")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The digits for several devices."""
    folder = tmp_path_factory.mktemp("several") / "cache"
    devices = [word for profile in PROFILES for word in ("--device", profile)]
    report = as_json("compile", DIGITS_MODEL, "-o", folder, *devices, "--device", "mali")
    names = [Path(variant["path"]).name for variant in report["variants"]]
    assert [name.split("-")[2] for name in names] == list(PROFILES)
    return folder


def test_each_variant_has_a_row(tmp_path: Path) -> None:
    options = ("--device", "mali", "--device", "adreno")
    text = invoke("compile", DIGITS_MODEL, "-o", tmp_path / "cache", *options).stdout
    first, _, *rows = text.splitlines()
    assert first == "2 compiled"
    assert [row.split()[1].split("-")[2] for row in rows if row] == ["mali", "adreno"]


def test_the_variant_compiled_last(cache: Path, tmp_path: Path) -> None:
    result = invoke("export", cache, "-o", tmp_path / "digits", "--name", "digits")
    assert "this is the variant compiled last; the others are" in result.stderr
    assert result.stdout.startswith(f"{tmp_path / 'digits'}: ")
    assert '{"cpu_avx2", ' in (tmp_path / "digits" / "digits_model.c").read_text()


def test_variants_for_several_devices(cache: Path, tmp_path: Path) -> None:
    words = ("export", cache, "-o", tmp_path / "c", "--name", "digits", "--device", "mali")
    report = as_json(*words, "--device", "cpu_avx2", "--device", "mali")
    assert report["folder"] == str(tmp_path / "c")
    assert {"digits_model.c", "digits_model.h", "main.c", "weights.bin"} <= set(report["files"])
    text = (tmp_path / "c" / "digits_model.c").read_text()
    rows = text.partition("static const tflgpu_variant variants[] = {")[2]
    assert [name for name in PROFILES if f'{{"{name}", ' in rows] == ["mali", "cpu_avx2"]
    assert "variants, 2,\n};" in text


def test_a_variant_that_is_not_there(cache: Path, tmp_path: Path) -> None:
    words = ("export", cache, "-o", tmp_path / "c", "--name", "digits", "--device", "nvidia")
    message = invoke(*words, code=1).stderr
    assert "has no variant for nvidia, only for cpu_avx2, mali, adreno; compile it with" in message
    assert not (tmp_path / "c").exists()


def test_operators_that_need_python_are_named(tmp_path: Path) -> None:
    options = ("--device", "mali", "--fallback-op", "SOFTMAX")
    invoke("compile", DIGITS_MODEL, "-o", tmp_path / "cache", *options)
    words = ("export", tmp_path / "cache", "-o", tmp_path / "c", "--name", "digits")
    message = invoke(*words, code=1).stderr
    assert "SOFTMAX) run on LiteRT; `tflgpu explain` says why" in message


@pytest.mark.parametrize("signature", ["prefill", "decode"])
def test_one_of_several_signatures(tmp_path: Path, signature: str) -> None:
    path = tflgpu.compile(cached(), tmp_path / "cache", device="gpu", signature="all")
    for folder, options in (("one", ("--signature", signature)), ("all", ())):
        invoke("export", path, "-o", tmp_path / folder, "--name", "net", *options)
    text, both = ((tmp_path / name / "net_model.c").read_text() for name in ("one", "all"))
    assert f'"{signature}", NULL,' in text and "s1_signature" not in text
    assert '"prefill", &s1_signature,' in both and '"decode", NULL,' in both
