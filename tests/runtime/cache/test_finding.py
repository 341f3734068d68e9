"""Finding what a cache holds of a model, and reading what is replaced meanwhile."""

from collections.abc import Callable
from pathlib import Path

import pytest
from plans import chain

from tflgpu.runtime import PlanError
from tflgpu.runtime.cache.folder import find_variants, fingerprint, read_settled


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "chain.tflite"
    path.write_bytes(b"the content of a model")
    return path


def test_a_model_is_found_by_file_name_or_fingerprint(cache: Path, model: Path) -> None:
    digest = fingerprint(model)
    assert digest == fingerprint(model.read_bytes())
    folder = chain(digest).write(cache)
    chain("cd" * 32).write(cache)
    for choice in (model, str(model), digest):
        assert find_variants(cache, choice) == [folder.resolve()]


def test_the_only_model_needs_no_name(cache: Path) -> None:
    folders = [chain().write(cache, name).resolve() for name in ("a", "b")]
    (cache / "tuning").mkdir()
    assert find_variants(cache) == folders


def test_variant_folder_itself(cache: Path, model: Path) -> None:
    folder = chain(fingerprint(model)).write(cache)
    assert find_variants(folder) == [folder.resolve()]
    assert find_variants(folder, model) == [folder.resolve()]
    with pytest.raises(
        PlanError, match=r"was compiled from a different model than cdcd.*tflgpu-compile MODEL"
    ):
        find_variants(folder, "cd" * 32)


def test_folder_of_a_model(cache: Path, model: Path) -> None:
    folder = chain(fingerprint(model)).write(cache)
    chain("cd" * 32).write(cache)
    assert find_variants(folder.parent) == find_variants(folder.parent, model) == [folder.resolve()]
    with pytest.raises(PlanError, match="holds no plan of cdcd"):
        find_variants(folder.parent, "cd" * 32)


def test_several_models_need_a_name(cache: Path) -> None:
    chain().write(cache)
    chain("cd" * 32, "other.tflite").write(cache)
    with pytest.raises(PlanError) as caught:
        find_variants(cache)
    assert str(caught.value) == (
        f"{cache.resolve()} holds several models; choose one of them:\n"
        f"  {'ab' * 6}  chain.tflite\n"
        f"  {'cd' * 6}  other.tflite"
    )


@pytest.mark.parametrize("choice", ["other.tflite", "cd" * 6, "cdcd"])
def test_by_what_cache_list_prints(cache: Path, choice: str) -> None:
    chain().write(cache)
    folder = chain("cd" * 32, "other.tflite").write(cache)
    assert find_variants(cache, choice) == find_variants(folder, choice) == [folder.resolve()]


def test_a_name_of_several_models(cache: Path) -> None:
    for digest in ("ab" * 32, "abcd" * 16):
        chain(digest).write(cache)
    chain("cd" * 32, "other.tflite").write(cache)
    with pytest.raises(PlanError, match=r"several models; .*\n  abababababab.*\n  abcdabcdabcd"):
        find_variants(cache, "chain.tflite")


MISSING: dict[str, tuple[Callable[[Path, Path], object], str]] = {
    "no cache": (
        lambda cache, model: find_variants(cache / "x"),
        "there is no cache at .*/x; create one",
    ),
    "no name of a file": (
        lambda cache, model: find_variants(cache / "a\0b"),
        r"there can be no cache at .*/a.*b: .*embedded null",
    ),
    "a model that is not there": (
        lambda cache, model: find_variants(model.with_name("x.tflite")),
        r"there is no file .*/x\.tflite$",
    ),
    "no model": (lambda cache, model: find_variants(cache), "holds no compiled model; compile one"),
    "not compiled": (
        lambda cache, model: find_variants(cache, model),
        r"holds no plan of .*chain\.tflite; compile it with: tflgpu-compile .*chain\.tflite -o",
    ),
    "no such fingerprint": (
        lambda cache, model: find_variants(cache, "ef" * 32),
        "holds no plan of efef.*; compile it with: tflgpu-compile MODEL -o",
    ),
    "no such file": (
        lambda cache, model: find_variants(cache, "x.tflite"),
        r"holds no plan of x\.tflite; compile it with: tflgpu-compile MODEL -o",
    ),
    "a model as the cache": (
        lambda cache, model: find_variants(model),
        r"chain\.tflite is a file, but a cache is a folder; .*: tflgpu-compile MODEL -o CACHE",
    ),
    "others": (
        lambda cache, model: (chain().write(cache), find_variants(cache, model)),
        r"holds no plan of .*; or choose one of those it holds:\n  abababababab  chain\.tflite",
    ),
}


@pytest.mark.parametrize("case", MISSING)
def test_what_is_not_found_is_an_error(cache: Path, model: Path, case: str) -> None:
    cache.mkdir(mode=0o700)
    call, message = MISSING[case]
    with pytest.raises(PlanError, match=message):
        call(cache, model)


def test_a_folder_replaced_while_it_is_read_is_read_again(cache: Path) -> None:
    folder = chain().write(cache)
    attempts: list[int] = []

    def read() -> str:
        attempts.append(len(attempts))
        if len(attempts) < 3:
            chain().replacing(compiler=f"0.{len(attempts)}").write(cache)
            raise PlanError("half of it is new")
        return "whole"

    for place in (cache, folder):
        attempts.clear()
        assert read_settled(place, read) == "whole"
        assert len(attempts) == 3


def test_a_folder_that_is_damaged_is_read_once(cache: Path) -> None:
    chain().write(cache)
    attempts: list[int] = []

    def read() -> None:
        attempts.append(len(attempts))
        raise PlanError("damaged")

    for place in (cache, cache / "nowhere"):
        attempts.clear()
        with pytest.raises(PlanError, match="damaged"):
            read_settled(place, read)
        assert len(attempts) == 1
