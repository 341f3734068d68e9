"""Which files are meant by folders, patterns and lists."""

from pathlib import Path

import pytest

from tflgpu.compiler import ModelError
from tflgpu.compiler.fleet.models import find_models


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("b.tflite", "a.tflite", "deep/er/c.tflite", "notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["."], ["a.tflite", "b.tflite", "deep/er/c.tflite"]),
        (["*.tflite"], ["a.tflite", "b.tflite"]),
        (["**/*.tflite"], ["a.tflite", "b.tflite", "deep/er/c.tflite"]),
        (["deep", "b.tflite", "*.tflite"], ["deep/er/c.tflite", "b.tflite", "a.tflite"]),
        (["none.tflite"], ["none.tflite"]),
        (["@list"], ["b.tflite", "deep/er/c.tflite"]),
    ],
)
def test_files_folders_and_patterns_name_models(
    tree: Path, monkeypatch: pytest.MonkeyPatch, given: list[str], expected: list[str]
) -> None:
    monkeypatch.chdir(tree)
    (tree / "list").write_text("# those of today\nb.tflite\n\ndeep\nb.tflite\n")
    assert [path.as_posix() for path in find_models(given)] == expected


def test_a_list_is_relative_to_its_folder(tree: Path) -> None:
    (tree / "deep" / "list").write_text("../a.tflite\ner/*.tflite\n")
    found = find_models([f"@{tree / 'deep' / 'list'}"])
    assert [path.resolve() for path in found] == [
        tree / "a.tflite",
        tree / "deep" / "er" / "c.tflite",
    ]


def test_what_a_cache_has_is_no_model(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variant = tree / "cache" / ("0" * 64) / "variant"
    (variant / "fallback").mkdir(parents=True)
    for path in (variant / "plan.tflgpu", variant / "fallback" / "0.tflite"):
        path.touch()
    for name in (".hidden/d.tflite", ".e.tflite", "folder.tflite/f.tflite"):
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).touch()
    monkeypatch.chdir(tree)
    expected = ["a.tflite", "b.tflite", "deep/er/c.tflite", "folder.tflite/f.tflite"]
    for given in (".", "**/*.tflite"):
        assert [path.as_posix() for path in find_models([given])] == expected


def test_lists_as_editors_write_them(tree: Path) -> None:
    (tree / "a[1]").mkdir()
    (tree / "a[1]" / "a.tflite").touch()
    (tree / "a[1]" / "list").write_text("a.tflite\n  # not b\n*.tflite\n", "utf-8-sig")
    found = find_models([f"@{tree}/a[1]/list"])
    assert [path.relative_to(tree).as_posix() for path in found] == ["a[1]/a.tflite"]


def test_all_that_stands_for_nothing_is_named(tree: Path) -> None:
    (tree / "empty").mkdir()
    (tree / "list").write_text("# nothing\n")
    (tree / "nested").write_text("@list\n")
    given: list[str | Path] = [
        tree / "empty",
        f"{tree}/*.lite",
        f"@{tree}/list",
        f"@{tree}/none",
        f"@{tree}/nested",
    ]
    with pytest.raises(ModelError) as raised:
        find_models(given)
    assert [line.replace(str(tree), "") for line in str(raised.value).splitlines()] == [
        "there is no .tflite file in /empty",
        "no file matches /*.lite",
        "the list /list is empty",
        "cannot read the list of models /none: No such file or directory",
        "the list /nested names another list, @list; name both lists",
    ]
